// pure
/** Fixes that a user can apply to a pod with a problem. */

/** The pod that needs a fix. */
interface FixFor {
  readonly namespace: string;
  readonly name: string;
  /** The container that the message is about, where it is about one. */
  readonly container?: string | undefined;
}

interface Fix {
  /** At which step: the whole reason that the status or the agent gives, never a part of foreign text. */
  readonly reason: RegExp;
  /** What the message has to say. */
  readonly message?: RegExp;
  /** What one of the causes that the message strings together has to be, as a whole. */
  readonly cause?: RegExp;
  readonly text: (found: readonly string[], pod: FixFor) => string | undefined;
}

const PULL = /^(?:ErrImagePull|ImagePullBackOff|RegistryUnavailable)$/;
const CONFIG = /^CreateContainerConfigError$/;
const START = /^(?:CreateContainerError|RunContainerError|StartError)$/;
const SANDBOX = /^CreatePodSandboxError$/;
const MOUNT = /^FailedMount$/;
const UNSCHEDULED = /^Unschedulable$/;

/** The first that is meant counts. */
const FIXES: readonly Fix[] = [
  {
    reason: /^(CrashLoopBackOff|Exited)$/,
    text: ([, reason], { namespace, name, container }) => {
      const where = namespace === "default" ? "" : ` -n ${namespace}`;
      const of = container === undefined ? "" : ` -c ${container}`;
      return `nodelet logs ${name}${where}${of}${reason === "Exited" ? "" : " --previous"}`;
    },
  },
  {
    reason: CONFIG,
    message: /^couldn't find key (\S+) in (ConfigMap|Secret) (\S+?)\/(\S+)$/,
    text: ([, key, kind, namespace, name]) => `add the key ${key} to ${kind} ${namespace}/${name}`,
  },
  {
    reason: MOUNT,
    message: /\b(secret|configmap) references non-existent \w+ key: (\S+)/,
    text: ([, kind, key]) =>
      `add the key ${key} to the ${kind === "secret" ? "Secret" : "ConfigMap"}`,
  },
  {
    reason: /^(?:CreateContainerConfigError|FailedMount)$/,
    message: /(?:^|: )(configmap|secret) "([^"]+)" not found(?=$|[,;\]\s])/i,
    text: ([, kind = "", name], { namespace }) =>
      `kubectl create ${kind.toLowerCase() === "secret" ? "secret generic" : "configmap"} ${name} -n ${namespace} …`,
  },
  {
    reason: /^(?:FailedMount|Unschedulable)$/,
    message: /(?:^|: )persistentvolumeclaims? "?([^"\s]+)"? not found(?=$|[,.;\]\s])/i,
    text: ([, name], { namespace }) => `create the PersistentVolumeClaim ${namespace}/${name}`,
  },
  {
    reason: MOUNT,
    message: /(?:^|: )error processing PVC ([^\s:]+): PVC is not bound$/,
    text: ([, claim]) =>
      `bind the claim: kubectl describe pvc ${claim?.split("/")[1]} says why not`,
  },
  {
    reason: MOUNT,
    message: /(?:^|: )hostPath type check failed[:,] (\S+) is not an? ([^,]+?)(?:, .*)?\.?$/,
    text: ([, path, what]) => `create the ${what} ${path} on the node, or change hostPath.type`,
  },
  {
    reason: /^ErrImageNeverPull$/,
    text: () => "load the image on the node, or set imagePullPolicy to IfNotPresent",
  },
  {
    reason: /^RegistryUnavailable$/,
    text: () => "check that the node can reach the registry",
  },
  {
    reason: /^InvalidImageName$/,
    text: () => "correct the image name in the pod's spec",
  },
  {
    reason: PULL,
    cause:
      /^(?:(?:.*\bstatus(?: code)?(?: from registry)? )?(?:401|403)(?: \(?(?:Unauthorized|Forbidden)\b.*)?|code = (?:Unauthenticated|PermissionDenied)\b.*|unauthorized|denied|(?:pull )?access denied|requested access to the resource is denied|authentication required|authorization failed|insufficient_scope|no basic auth credentials|invalid username\/password)$/i,
    text: () => "give the pod imagePullSecrets for this registry",
  },
  {
    reason: PULL,
    cause:
      /^(?:(?:.*\bstatus(?: code)? )?404(?: Not Found\b.*)?|code = NotFound\b.*|(?:manifest |.* )?not found|manifest unknown\b.*|name unknown\b.*)$/i,
    text: () => "check image name and tag",
  },
  {
    reason: PULL,
    cause:
      /^(?:no such host|server misbehaving|(?:.* )?i\/o timeout|TLS handshake timeout|connection refused|connection reset by peer|network is unreachable|no route to host|dial tcp\b.*|code = Unavailable\b.*|RegistryUnavailable)$/i,
    text: () => "check that the node can reach the registry",
  },
  {
    reason: CONFIG,
    message:
      /^container has runAsNonRoot and image will run as root|^container's runAsUser breaks /,
    text: () => "set securityContext.runAsUser to a user other than 0, or use an image with one",
  },
  {
    reason: CONFIG,
    message: /^container has runAsNonRoot and image has (?:non-numeric user|an invalid user id)/,
    text: () => "set securityContext.runAsUser to a number from 1 to 2147483647",
  },
  {
    reason: START,
    message:
      /(?:^|: )(?:exec: (?:"[^"]*"|[^\s"]+): (?:executable file not found|(?:stat \S+: )?no such file)|exec \S+: no such file|executable file `[^`]*` not found)/i,
    text: () => "correct the container's command, or use an image that has it",
  },
  {
    reason: START,
    message: /(?:^|: )exec:? (?:"[^"]*"|[^\s"]+): (?:stat \S+: )?permission denied/i,
    text: () => "make the command executable in the image",
  },
  {
    reason: SANDBOX,
    message: /(?:^|: )open \/proc\/sys\/([^\s:]+): no such file or directory/,
    text: ([, path = ""]) =>
      `remove the sysctl ${path.replaceAll("/", ".")} from the pod: the node's kernel does not have it here`,
  },
  {
    reason: SANDBOX,
    message: /(?:^|: )write \/proc\/sys\/([^\s:]+): invalid argument/,
    text: ([, path = ""]) =>
      `correct the value of the sysctl ${path.replaceAll("/", ".")} in the pod's spec`,
  },
  {
    reason: /^(?:CreateContainer(?:Config)?Error|RunContainerError)$/,
    message: /^unable to find target container/,
    text: () => "name a container of the pod in targetContainerName",
  },
  {
    reason: /^OOMKilled$/,
    text: () => "raise resources.limits.memory, or make the program use less",
  },
  {
    reason: /^OutOf(\S+)$/,
    text: ([, resource]) => `lower the pod's request of ${resource}, or remove other pods`,
  },
  {
    reason: UNSCHEDULED,
    message: /\bInsufficient ([^\s,]+?)(?=[.,]?(?:\s|$))/,
    text: ([, resource]) => `lower the pod's request of ${resource}, or remove other pods`,
  },
  {
    reason: /^AnotherNode$/,
    message: / (\S+)$/,
    text: ([, node], { name }) => `run nodelet why ${name} on node ${node}`,
  },
  {
    reason: /^SchedulingGated$/,
    text: (_, { namespace, name }) =>
      `kubectl patch pod ${name} -n ${namespace} --type=json -p '[{"op":"remove","path":"/spec/schedulingGates"}]'`,
  },
  {
    reason: /^Unscheduled$/,
    message: /^scheduler (\S+)/,
    text: ([, scheduler]) =>
      scheduler === "default-scheduler"
        ? undefined
        : `start the scheduler ${scheduler}, or remove schedulerName from the pod's spec`,
  },
  {
    reason: UNSCHEDULED,
    message: /\bpod has unbound PersistentVolumeClaims: "([^"]+)"/,
    text: ([, claim], { namespace }) =>
      `kubectl describe pvc ${claim} -n ${namespace} says why it is not bound`,
  },
  {
    reason: UNSCHEDULED,
    message: /\bToo many pods\b/,
    text: () => "remove other pods, or raise maxPods in the node's configuration",
  },
  {
    reason: UNSCHEDULED,
    message: /\bwere unschedulable\b|\buntolerated taint \{node\.kubernetes\.io\/unschedulable/,
    text: () => "make the node schedulable again: kubectl uncordon <node>",
  },
  {
    reason: UNSCHEDULED,
    message: /^no nodes available\b|\buntolerated taint \{node\.kubernetes\.io\//,
    text: () => "nodelet why --node shows what is wrong with the node",
  },
  {
    reason: /^NodePorts$/,
    text: () => "use another hostPort, or remove the pod that has it",
  },
  {
    reason: UNSCHEDULED,
    message: /\bdidn't have free ports\b/,
    text: () => "use another hostPort, or remove the pod that has it",
  },
  {
    reason: /^TaintToleration$/,
    text: () => "add a toleration to the pod, or remove the taint from the node",
  },
  {
    reason: UNSCHEDULED,
    message: /\buntolerated taint\b|\btaints that the pod didn't tolerate\b/,
    text: () => "add a toleration to the pod, or remove the taint from the node",
  },
  {
    reason: /^NodeAffinity$/,
    text: () => "correct nodeSelector and affinity of the pod, or label the node",
  },
  {
    reason: UNSCHEDULED,
    message: /\bnode affinity\b|\bnode selector\b/i,
    text: () => "correct nodeSelector and affinity of the pod, or label the node",
  },
  {
    reason: /^SysctlForbidden$/,
    text: () => "allow it in allowedUnsafeSysctls of the node's configuration, or leave it out",
  },
  {
    reason: /^Evicted$/,
    message: /\bnode had condition: \[(\w+)/,
    text: ([, condition]) => `free resources on the node: nodelet why --node explains ${condition}`,
  },
  {
    reason: /^DeadlineExceeded$/,
    text: () => "raise activeDeadlineSeconds",
  },
  {
    reason: /^NetworkNotReady$/,
    text: () => "install a CNI configuration in /etc/cni/net.d",
  },
  {
    reason: SANDBOX,
    message: /(?:^|: )cni plugin not initialized/,
    text: () => "install a CNI configuration in /etc/cni/net.d",
  },
  {
    reason: /^Unready$/,
    message: /\bits (?:startup|readiness) probe has not succeeded$/,
    text: (_, { name }) => `nodelet probes ${name} shows what the probe answers`,
  },
];

/** Fix for a problem; `undefined` when none is known. */
export function fixFor(reason: string, message: string, pod: FixFor): string | undefined {
  for (const fix of FIXES) {
    const found = matchOf(fix, reason, message);
    if (found) return fix.text(found, pod);
  }
  return undefined;
}

function matchOf(fix: Fix, reason: string, message: string): readonly string[] | null {
  const stage = fix.reason.exec(reason);
  if (!stage) return null;
  if (fix.message) return fix.message.exec(message);
  const { cause } = fix;
  return cause && !causesOf(message).some((one) => cause.test(one)) ? null : stage;
}

/** An error is a chain of texts with colons between them. What is quoted, names of images among it, is none of them. */
function causesOf(message: string): readonly string[] {
  return message
    .replace(/"(?:[^"\\]|\\.)*"/g, '""')
    .split(/:\s+|[,;]\s+|[[\]\n]/)
    .map((cause) => cause.trim());
}
