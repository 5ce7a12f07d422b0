// pure
/** Fixes that a user can apply to a pod with a problem. */

/** The pod for which a fix is looked for. */
export interface FixFor {
  readonly namespace: string;
  readonly name: string;
  /** The container that the message is about, where it is about one. */
  readonly container?: string | undefined;
}

interface Fix {
  readonly pattern: RegExp;
  readonly text: (found: readonly string[], pod: FixFor) => string | undefined;
}

/** The first that matches `reason: message` counts. */
const FIXES: readonly Fix[] = [
  // Before all others: what follows is the program's own output, in which none of them may look for a cause.
  {
    pattern: /^(CrashLoopBackOff|Exited): /,
    text: ([, reason], { namespace, name, container }) => {
      const where = namespace === "default" ? "" : ` -n ${namespace}`;
      const of = container === undefined ? "" : ` -c ${container}`;
      return `nodelet logs ${name}${where}${of}${reason === "Exited" ? "" : " --previous"}`;
    },
  },
  {
    pattern: /couldn't find key (\S+) in (ConfigMap|Secret) (\S+?)\/(\S+)/,
    text: ([, key, kind, namespace, name]) => `add the key ${key} to ${kind} ${namespace}/${name}`,
  },
  {
    pattern: /references non-existent (\w+) key: (\S+)/,
    text: ([, kind, key]) =>
      `add the key ${key} to the ${kind === "secret" ? "Secret" : "ConfigMap"}`,
  },
  {
    pattern: /(configmap|secret) "([^"]+)" not found/i,
    text: ([, kind = "", name], { namespace }) =>
      `kubectl create ${kind.toLowerCase() === "secret" ? "secret generic" : "configmap"} ${name} -n ${namespace} …`,
  },
  {
    pattern: /persistentvolumeclaims? "?([^"\s]+)"? not found/i,
    text: ([, name], { namespace }) => `create the PersistentVolumeClaim ${namespace}/${name}`,
  },
  {
    pattern: /PVC ([^\s:]+): PVC is not bound/,
    text: ([, claim]) =>
      `bind the claim: kubectl describe pvc ${claim?.split("/")[1]} says why not`,
  },
  {
    pattern: /hostPath type check failed: (\S+) is not an? (.+?)\.?$/,
    text: ([, path, what]) => `create the ${what} ${path} on the node, or change hostPath.type`,
  },
  {
    pattern: /ErrImageNeverPull|is not present with pull policy of Never/,
    text: () => "load the image on the node, or set imagePullPolicy to IfNotPresent",
  },
  {
    pattern: /InvalidImageName|couldn't parse image name/,
    text: () => "correct the image name in the pod's spec",
  },
  {
    pattern:
      /(ErrImagePull|ImagePullBackOff).*(unauthorized|authentication|authorization|denied|401|403)/i,
    text: () => "give the pod imagePullSecrets for this registry",
  },
  {
    pattern: /(ErrImagePull|ImagePullBackOff).*(not found|manifest unknown|404)/i,
    text: () => "check image name and tag",
  },
  {
    pattern:
      /(ErrImagePull|ImagePullBackOff).*(no such host|i\/o timeout|connection refused|dial tcp|network is unreachable)/i,
    text: () => "check that the node can reach the registry",
  },
  {
    pattern: /runAsNonRoot and image will run as root|runAsUser breaks non-root policy/,
    text: () => "set securityContext.runAsUser to a user other than 0, or use an image with one",
  },
  {
    pattern: /image has non-numeric user|image has an invalid user id/,
    text: () => "set securityContext.runAsUser to a number from 1 to 2147483647",
  },
  {
    pattern: /executable file not found|no such file or directory: unknown|exec: .*no such file/,
    text: () => "correct the container's command, or use an image that has it",
  },
  {
    pattern: /permission denied: unknown|exec: .*permission denied/,
    text: () => "make the command executable in the image",
  },
  {
    pattern: /unable to find target container/,
    text: () => "name a container of the pod in targetContainerName",
  },
  {
    pattern: /OOMKilled|OOM-killed/,
    text: () => "raise resources.limits.memory, or make the program use less",
  },
  {
    pattern: /^OutOf(\w+)|Insufficient (\w+)/,
    text: ([, out, short]) => `lower the pod's request of ${out ?? short}, or remove other pods`,
  },
  {
    pattern: /^AnotherNode: .* (\S+)$/,
    text: ([, node], { name }) => `run nodelet why ${name} on node ${node}`,
  },
  {
    pattern: /^SchedulingGated: /,
    text: (_, { namespace, name }) =>
      `kubectl patch pod ${name} -n ${namespace} --type=json -p '[{"op":"remove","path":"/spec/schedulingGates"}]'`,
  },
  {
    pattern: /^Unscheduled: scheduler (\S+)/,
    text: ([, scheduler]) =>
      scheduler === "default-scheduler"
        ? undefined
        : `start the scheduler ${scheduler}, or remove schedulerName from the pod's spec`,
  },
  {
    pattern: /pod has unbound PersistentVolumeClaims: "([^"]+)"/,
    text: ([, claim], { namespace }) =>
      `kubectl describe pvc ${claim} -n ${namespace} says why it is not bound`,
  },
  {
    pattern: /Too many pods/,
    text: () => "remove other pods, or raise maxPods in the node's configuration",
  },
  {
    pattern: /were unschedulable|untolerated taint \{node\.kubernetes\.io\/unschedulable/,
    text: () => "make the node schedulable again: kubectl uncordon <node>",
  },
  {
    pattern: /no nodes available|untolerated taint \{node\.kubernetes\.io\//,
    text: () => "nodelet why --node tells what is wrong with the node",
  },
  {
    pattern: /free ports/,
    text: () => "use another hostPort, or remove the pod that has it",
  },
  {
    pattern: /TaintToleration|untolerated taint|taints that the pod didn't tolerate/,
    text: () => "add a toleration to the pod, or remove the taint from the node",
  },
  {
    pattern: /node affinity|node selector/i,
    text: () => "correct nodeSelector and affinity of the pod, or label the node",
  },
  {
    pattern: /SysctlForbidden/,
    text: () => "allow it in allowedUnsafeSysctls of the node's configuration, or leave it out",
  },
  {
    pattern: /node had condition: \[(\w+)/,
    text: ([, condition]) => `free resources on the node: nodelet why --node tells of ${condition}`,
  },
  {
    pattern: /^DeadlineExceeded: /,
    text: () => "raise activeDeadlineSeconds",
  },
  {
    pattern: /cni plugin not initialized|NetworkNotReady|network is not ready/,
    text: () => "install a CNI configuration in /etc/cni/net.d",
  },
  {
    pattern: /(startup|readiness|liveness) probe/,
    text: (_, { name }) => `nodelet probes ${name} shows what the probe answers`,
  },
];

/** Fix for `reason: message`; `undefined` when none is known. */
export function fixFor(reason: string, message: string, pod: FixFor): string | undefined {
  const reported = `${reason}: ${message}`;
  for (const { pattern, text } of FIXES) {
    const found = pattern.exec(reported);
    if (found) return text(found, pod);
  }
  return undefined;
}
