// pure

import type { Container, ContainerPort } from "../../api/generated/types.ts";
import { containerHash } from "../../api/pod/container-hash.ts";
import { asPodUid, type IdentifiedPod, type PodUid } from "../../api/pod-identity.ts";
import { isFileName } from "../../api/text/path-names.ts";

/** Labels and annotations by which any kubelet recognises its sandboxes and containers (kuberuntime/labels.go). */
export const POD_NAME = "io.kubernetes.pod.name";
/** `metadata.namespace`. */
export const POD_NAMESPACE = "io.kubernetes.pod.namespace";
/** `metadata.uid`. */
export const POD_UID = "io.kubernetes.pod.uid";
/** `spec.containers[].name`. */
export const CONTAINER_NAME = "io.kubernetes.container.name";
/** Hash of name and image, in hex. */
export const CONTAINER_HASH = "io.kubernetes.container.hash";
/** Decimal. */
export const CONTAINER_RESTART_COUNT = "io.kubernetes.container.restartCount";
/** Path of the message in the container. */
export const TERMINATION_MESSAGE_PATH = "io.kubernetes.container.terminationMessagePath";
/** `File` or `FallbackToLogsOnError`. */
export const TERMINATION_MESSAGE_POLICY = "io.kubernetes.container.terminationMessagePolicy";
/** The hook as JSON. */
export const PRE_STOP_HANDLER = "io.kubernetes.container.preStopHandler";
/** The ports as JSON. */
export const CONTAINER_PORTS = "io.kubernetes.container.ports";
/** Whole seconds. */
const POD_DELETION_GRACE = "io.kubernetes.pod.deletionGracePeriod";
/** Whole seconds. */
export const POD_TERMINATION_GRACE = "io.kubernetes.pod.terminationGracePeriod";
/** Our own: which devices the container holds, for a day when the checkpoint is lost. */
export const CONTAINER_DEVICES = "io.nodelet.devices";
/** Our own: how often all containers of the pod had been restarted when this one was made; decimal, above 0. */
export const CONTAINER_ROUND = "io.nodelet.round";

/** Something listed by the runtime. */
interface Labelled {
  readonly labels: Readonly<Record<string, string>>;
  readonly metadata?: { readonly name?: string } | undefined;
}

/**
 * The pod that a sandbox or container belongs to by its labels; `undefined` for what no kubelet has made. Other clients of the
 * runtime may set any labels: what cannot be the name of a folder, as all names of pods are, is none of ours.
 */
export function podOfLabels({ labels, metadata }: Labelled): PodUid | undefined {
  const names = [labels[POD_NAMESPACE], labels[POD_NAME], metadata?.name];
  const safe = names.every((name) => name === undefined || name === "" || isFileName(name));
  return safe ? asPodUid(labels[POD_UID]) : undefined;
}

/** The pod's own labels and those that name it. */
export function sandboxLabels(pod: IdentifiedPod): Record<string, string> {
  return { ...pod.metadata?.labels, ...podLabels(pod) };
}

/** The labels that name pod and container; the pod's own are not copied. */
export function containerLabels(pod: IdentifiedPod, container: Container): Record<string, string> {
  return { ...podLabels(pod), [CONTAINER_NAME]: container.name };
}

function podLabels(pod: IdentifiedPod): Record<string, string> {
  const { name, namespace, uid } = pod.metadata;
  return { [POD_NAME]: name, [POD_NAMESPACE]: namespace, [POD_UID]: uid };
}

/** What stopping the container needs (hooks, grace) once its spec is gone. */
export function containerAnnotations(
  pod: IdentifiedPod,
  container: Container,
  restartCount: number,
): Record<string, string> {
  const annotations: Record<string, string> = {
    [CONTAINER_HASH]: containerHash(container),
    [CONTAINER_RESTART_COUNT]: String(restartCount),
    [TERMINATION_MESSAGE_PATH]: container.terminationMessagePath ?? "",
    [TERMINATION_MESSAGE_POLICY]: container.terminationMessagePolicy ?? "",
  };
  const deletionGrace = pod.metadata?.deletionGracePeriodSeconds;
  if (deletionGrace !== undefined) annotations[POD_DELETION_GRACE] = String(deletionGrace);
  const grace = pod.spec?.terminationGracePeriodSeconds;
  if (grace !== undefined) annotations[POD_TERMINATION_GRACE] = String(grace);
  const preStop = container.lifecycle?.preStop;
  if (preStop) annotations[PRE_STOP_HANDLER] = JSON.stringify(preStop);
  if (container.ports && container.ports.length > 0) {
    annotations[CONTAINER_PORTS] = JSON.stringify(container.ports.map(portInGoOrder));
  }
  return annotations;
}

/** Field order of Go's struct, so that both agents write the same text. */
function portInGoOrder(port: ContainerPort): Record<string, unknown> {
  return {
    ...(port.name ? { name: port.name } : {}),
    ...(port.hostPort ? { hostPort: port.hostPort } : {}),
    containerPort: port.containerPort,
    ...(port.protocol ? { protocol: port.protocol } : {}),
    ...(port.hostIP ? { hostIP: port.hostIP } : {}),
  };
}
