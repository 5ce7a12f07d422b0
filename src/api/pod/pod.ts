// pure
import type {
  Container,
  ContainerRestartRule,
  EphemeralContainer,
  Pod,
  PodSpec,
  Volume,
} from "../generated/types.ts";

/** Source of a pod: `api`, `file` or `http`. */
export const CONFIG_SOURCE_ANNOTATION = "kubernetes.io/config.source";
/** When this agent first saw the pod, RFC 3339. */
export const CONFIG_SEEN_ANNOTATION = "kubernetes.io/config.seen";
/** The UID a static pod got from its content. */
export const CONFIG_HASH_ANNOTATION = "kubernetes.io/config.hash";
/** On a mirror pod: the config hash of the static pod it mirrors. */
export const CONFIG_MIRROR_ANNOTATION = "kubernetes.io/config.mirror";

/** Pods of at least this priority are critical: `system-cluster-critical` and above. */
export const SYSTEM_CRITICAL_PRIORITY = 2_000_000_000;
/** Class of pods that the node cannot do without. */
export const NODE_CRITICAL_CLASS = "system-node-critical";

/** The value of `annotations[key]`, never something inherited. */
export function annotationOf(pod: Pod, key: string): string | undefined {
  const annotations = pod.metadata?.annotations;
  return annotations !== undefined && Object.hasOwn(annotations, key)
    ? annotations[key]
    : undefined;
}

/** Whether the pod comes from this node itself (a file or URL), not from the API. */
export function isStaticPod(pod: Pod): boolean {
  const source = annotationOf(pod, CONFIG_SOURCE_ANNOTATION);
  return source !== undefined && source !== "api";
}

/** Whether the pod is the API's image of a static pod. */
export const isMirrorPod = (pod: Pod): boolean =>
  annotationOf(pod, CONFIG_MIRROR_ANNOTATION) !== undefined;

/** Static, mirror, or of system priority: neither evicted nor preempted. */
export const isCriticalPod = (pod: Pod): boolean =>
  isStaticPod(pod) ||
  isMirrorPod(pod) ||
  (pod.spec?.priority !== undefined && pod.spec.priority >= SYSTEM_CRITICAL_PRIORITY);

/** Critical and of the class `system-node-critical`. */
export const isNodeCriticalPod = (pod: Pod): boolean =>
  isCriticalPod(pod) && pod.spec?.priorityClassName === NODE_CRITICAL_CLASS;

/** Whether the pod is to have user and group ids of its own. */
export const usesUserNamespace = ({ spec }: Pod): boolean => spec?.hostUsers === false;

/** Whether the pod lives in the node's own network. */
export const isHostNetworkPod = (pod: Pod): boolean => pod.spec?.hostNetwork === true;

/** The component of a control plane that a pod is by kubeadm's labels, like `etcd`; undefined for all others. */
export function controlPlaneComponent({ metadata }: Pod): string | undefined {
  const { component, tier } = metadata?.labels ?? {};
  return tier === "control-plane" ? component : undefined;
}

/** `name_namespace`, as the Go kubelet keys pods across sources. */
export const podFullName = (pod: Pod): string =>
  `${pod.metadata?.name ?? ""}_${pod.metadata?.namespace ?? ""}`;

/** `namespace/name`, for people. */
export const podDisplayName = (pod: Pod): string =>
  `${pod.metadata?.namespace ?? ""}/${pod.metadata?.name ?? ""}`;

/** `name_namespace(uid)`, as log lines and messages of the Go kubelet name a pod. */
export const podDescription = (pod: Pod): string =>
  `${podFullName(pod)}(${pod.metadata?.uid ?? ""})`;

/** The three lists of a pod's containers. */
type ContainerListKind = "container" | "init" | "ephemeral";

/** A container with the list it stands in. */
export type PlacedContainer =
  | { readonly kind: "container"; readonly index: number; readonly container: Container }
  | { readonly kind: "init"; readonly index: number; readonly container: Container }
  | { readonly kind: "ephemeral"; readonly index: number; readonly container: EphemeralContainer };

/** The field of the pod's spec that holds containers of a kind. */
export const CONTAINER_FIELDS: Readonly<Record<ContainerListKind, keyof PodSpec>> = {
  container: "containers",
  init: "initContainers",
  ephemeral: "ephemeralContainers",
};

/** Every container: init containers, then regular ones, then ephemeral ones. */
export function allContainers(pod: Pod): readonly PlacedContainer[] {
  const spec = pod.spec;
  if (spec === undefined) return [];
  return [
    ...(spec.initContainers ?? []).map(
      (container, index) => ({ kind: "init", index, container }) as const,
    ),
    ...spec.containers.map(
      (container, index) => ({ kind: "container", index, container }) as const,
    ),
    ...(spec.ephemeralContainers ?? []).map(
      (container, index) => ({ kind: "ephemeral", index, container }) as const,
    ),
  ];
}

/** The container called `name`, wherever it stands. Names are unique across the lists. */
export const findContainer = (pod: Pod, name: string): PlacedContainer | undefined =>
  allContainers(pod).find(({ container }) => container.name === name);

/** Whether an init container is a sidecar: it keeps running beside the regular containers. */
export const isRestartableInit = (container: Pick<Container, "restartPolicy">): boolean =>
  container.restartPolicy === "Always";

/** How a container counts in its pod. */
export type ContainerKind = "init" | "sidecar" | "regular" | "ephemeral";

/** The kind of an init container. */
export const initContainerKind = (
  container: Pick<Container, "restartPolicy">,
): "init" | "sidecar" => (isRestartableInit(container) ? "sidecar" : "init");

/** A pod's init containers that keep running. */
export const sidecarsOf = (pod: Pod): readonly Container[] =>
  (pod.spec?.initContainers ?? []).filter(isRestartableInit);

/** Default grace period of a pod, in seconds; the API server fills in the same. */
export const graceSecondsOf = (pod: Pod): number => pod.spec?.terminationGracePeriodSeconds ?? 30;

/** `fieldPath` of an event about a container, e.g. `spec.containers{web}`. */
export function containerFieldPath({ kind, index, container }: PlacedContainer): string {
  const list = `spec.${CONTAINER_FIELDS[kind]}`;
  return container.name === "" ? `${list}[${index}]` : `${list}{${container.name}}`;
}

/** When a stopped container is started again. */
export type RestartPolicy = "Always" | "OnFailure" | "Never";

function asRestartPolicy(text: string | undefined): RestartPolicy | undefined {
  return text === "Always" || text === "OnFailure" || text === "Never" ? text : undefined;
}

/** The policy that holds for one container: its own, else the pod's, else Always. Rules come before it. */
export const effectiveRestartPolicy = (
  pod: Pod,
  container: Pick<Container, "restartPolicy">,
): RestartPolicy =>
  asRestartPolicy(container.restartPolicy) ?? asRestartPolicy(pod.spec?.restartPolicy) ?? "Always";

/** The first of the container's restart rules that matches the exit code. */
export function matchingRestartRule(
  container: Pick<Container, "restartPolicyRules">,
  exitCode: number,
): ContainerRestartRule | undefined {
  return container.restartPolicyRules?.find(({ exitCodes }) => {
    const listed = exitCodes?.values?.includes(exitCode) ?? false;
    return exitCodes?.operator === "In" ? listed : exitCodes?.operator === "NotIn" && !listed;
  });
}

/** Whether any container of the pod may have all of them restarted (restart rule RestartAllContainers). */
export const mayRestartAll = (pod: Pod): boolean =>
  allContainers(pod).some(({ container }) =>
    container.restartPolicyRules?.some(({ action }) => action === "RestartAllContainers"),
  );

/** Consequence of a container's exit. */
type RestartVerdict = "restart" | "restartAllContainers" | "stay";

/**
 * Whether a container that exited with `exitCode` is started again: by its rules, then its own policy,
 * then the pod's (KEP-5307). Rules count only on containers with a restart policy of their own. That an
 * init container which succeeded is not repeated is the caller's matter.
 */
export function restartVerdict(
  pod: Pod,
  container: Pick<Container, "restartPolicy" | "restartPolicyRules">,
  exitCode: number,
): RestartVerdict {
  if (container.restartPolicy !== undefined) {
    const action = matchingRestartRule(container, exitCode)?.action;
    if (action === "Restart") return "restart";
    if (action === "RestartAllContainers") return "restartAllContainers";
  }
  switch (effectiveRestartPolicy(pod, container)) {
    case "Always":
      return "restart";
    case "OnFailure":
      return exitCode === 0 ? "stay" : "restart";
    case "Never":
      return "stay";
  }
}

/** Whether nothing will ever run in the pod again. */
export const isTerminalPhase = (phase: string | undefined): boolean =>
  phase === "Succeeded" || phase === "Failed";

/** Whether a volume uses space of the node's own file system (IsLocalEphemeralVolume of the Go kubelet). */
export const isLocalEphemeralVolume = ({ emptyDir, configMap }: Volume): boolean =>
  (emptyDir !== undefined && (emptyDir.medium ?? "") === "") || configMap !== undefined;
