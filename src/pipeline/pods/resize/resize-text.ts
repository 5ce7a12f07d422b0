// pure
/** Event messages of in-place resizes, with the Go kubelet's text (kubelet events/resize.go). */

import type { PodEventText } from "../../../api/event-text.ts";
import type { Container, Pod, ResourceRequirements } from "../../../api/generated/types.ts";
import { resizableContainers } from "../../../api/pod/allocation.ts";
import { canonicalQuantity, parseQuantity } from "../../../api/text/quantity.ts";
import type { PendingResize } from "../record/record.ts";

type ResourceList = Readonly<Record<string, string>>;

/** The resize was allocated; containers and cgroup are about to be updated. */
export const resizeStarted = (pod: Pod, generation: number): PodEventText => ({
  type: "Normal",
  reason: "ResizeStarted",
  message: resizeMessage("started", pod, generation),
});

/** The resize was applied to all containers and the cgroup. */
export const resizeCompleted = (pod: Pod, generation: number): PodEventText => ({
  type: "Normal",
  reason: "ResizeCompleted",
  message: resizeMessage("completed", pod, generation),
});

/** Containers or cgroup could not be updated. */
export const resizeFailed = (pod: Pod, generation: number, error: string): PodEventText => ({
  type: "Warning",
  reason: "ResizeError",
  message: resizeMessage("error", pod, generation, error),
});

/** The resize is deferred or infeasible. A deferred one begins with the reason for which admission refuses it, such as OutOfcpu. */
export const resizePending = (
  pod: Pod,
  { reason, message, generation }: Omit<PendingResize, "sinceMs">,
  refusal: string = reason,
): PodEventText => ({
  type: "Warning",
  reason: reason === "Infeasible" ? "ResizeInfeasible" : "ResizeDeferred",
  message: resizeMessage(refusal, pod, generation, message),
});

/** Requests of the pod in short, for people. */
export function requestsInShort(pod: Pod): string {
  return [
    ...inShort("", pod.spec?.resources),
    ...resizableContainers(pod).flatMap(({ name, resources }) => inShort(`${name} `, resources)),
  ].join(", ");
}

function inShort(prefix: string, resources: ResourceRequirements | undefined): readonly string[] {
  const texts = Object.entries(resources?.requests ?? {}).map((each) => each.join("="));
  return texts.length === 0 ? [] : [`${prefix}${texts.join(" ")}`];
}

function resizeMessage(what: string, pod: Pod, generation: number, error?: string): string {
  const json = JSON.stringify({ ...summary(pod), generation, error });
  return `Pod resize ${what}: ${json.replaceAll(/[<>&\u2028\u2029]/g, escaped)}`;
}

/** Go's JSON escapes what HTML would read. */
const escaped = (letter: string): string =>
  `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Pod-level resources are included too, which the Go kubelet leaves out. */
function summary(pod: Pod): object {
  const own = pod.spec?.resources;
  const { initContainers = [], containers = [] } = pod.spec ?? {};
  const lines = (list: readonly Container[]) =>
    list.map(({ name, resources }) => ({ name, resources: plain(resources) }));
  return {
    ...(own ? { resources: plain(own) } : {}),
    ...(initContainers.length > 0 ? { initContainers: lines(initContainers) } : {}),
    ...(containers.length > 0 ? { containers: lines(containers) } : {}),
  };
}

function plain({ limits, requests }: ResourceRequirements = {}): object {
  return {
    ...(limits ? { limits: canonical(limits) } : {}),
    ...(requests ? { requests: canonical(requests) } : {}),
  };
}

function canonical(list: ResourceList): ResourceList {
  const entries = Object.entries(list).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(
    entries.map(([name, text]) => [name, canonicalQuantity(parseQuantity(text))]),
  );
}
