// pure

import type { EvictionSignal } from "../../api/node/eviction-signals.ts";
import { isCriticalPod, podDisplayName } from "../../api/pod/pod.ts";
import { podResources } from "../../api/pod/pod-resources.ts";
import { type DiskLayout, SIGNAL_FACTS } from "./signals.ts";
import { type CandidatePod, usedFor } from "./usage.ts";

/** A pod in the order of eviction, with everything that its place depends on. */
export interface RankedPod {
  readonly candidate: CandidatePod;
  /** `namespace/name`. */
  readonly name: string;
  readonly priority: number;
  /** In bytes, inodes or processes; missing when nothing of the pod could be measured. */
  readonly used: number | undefined;
  /** Its request of the resource; 0 for inodes and processes, which cannot be requested. */
  readonly requested: number;
  /** Critical pods (static, mirror, system priority) are passed over. */
  readonly critical: boolean;
}

/**
 * The pods in the order in which they are evicted for a signal. Memory and disk: those that were not measured,
 * then those that use more than they request; of those the lower priority; of those the larger usage beyond
 * the request. Processes: the lower priority, then more processes. Pods that are equal in all of that go by
 * name, so that the order is the same each time (helpers.go rankMemoryPressure, rankDiskPressureFunc,
 * rankPIDPressure; there the request of bytes is subtracted from inodes, too, which is not done here).
 */
export function rankPods(
  signal: EvictionSignal,
  pods: readonly CandidatePod[],
  layout: DiskLayout,
): readonly RankedPod[] {
  return inOrder(
    signal,
    pods.map((candidate) => rankedOf(signal, candidate, layout)),
  );
}

function inOrder(signal: EvictionSignal, ranked: readonly RankedPod[]): readonly RankedPod[] {
  const byRequest = SIGNAL_FACTS[signal].resource === "pids" ? () => 0 : excessClass;
  return ranked.toSorted(
    (a, b) =>
      byRequest(a) - byRequest(b) ||
      a.priority - b.priority ||
      Number(a.used !== undefined) - Number(b.used !== undefined) ||
      excessOf(b) - excessOf(a) ||
      compareText(a.name, b.name) ||
      compareText(a.candidate.uid, b.candidate.uid),
  );
}

function rankedOf(signal: EvictionSignal, candidate: CandidatePod, layout: DiskLayout): RankedPod {
  const { pod, usage } = candidate;
  return {
    candidate,
    name: podDisplayName(pod),
    priority: pod.spec?.priority ?? 0,
    used: usage && usedFor(signal, usage, layout),
    requested: requestedFor(signal, candidate),
    critical: isCriticalPod(pod),
  };
}

function requestedFor(signal: EvictionSignal, { pod }: CandidatePod): number {
  const { resource } = SIGNAL_FACTS[signal];
  if (resource === "memory") return podResources(pod).requests.memoryBytes;
  return resource === "ephemeral-storage" ? podResources(pod).requests.ephemeralStorageBytes : 0;
}

/** The first pod of an order that may go; one that does not end in time is not waited for any longer. */
export const firstEvictable = (ranking: readonly RankedPod[]): RankedPod | undefined =>
  ranking.find(({ critical, candidate }) => !critical && candidate.ending !== "overdue");

/** Changes that would have put another pod first in the ranking. */
export interface Remedy {
  /** A request of at least this much of the resource. */
  readonly request?: number;
  /** A priority of at least this. */
  readonly priority?: number;
}

/** Changes that would have kept the first pod from eviction; empty when none would, or no other pod is a candidate. */
export function remedyFor(
  signal: EvictionSignal,
  ranking: readonly RankedPod[],
  victim: RankedPod,
): Remedy {
  const without = (changed: Partial<RankedPod>) => {
    const others = ranking.map((one) => (one === victim ? { ...victim, ...changed } : one));
    return firstEvictable(inOrder(signal, others))?.candidate !== victim.candidate;
  };
  const { resource } = SIGNAL_FACTS[signal];
  const { used } = victim;
  const canRequest = resource === "memory" || resource === "ephemeral-storage";
  const byRequest = canRequest && used !== undefined && without({ requested: used });
  const next = firstEvictable(ranking.filter((one) => one !== victim));
  const priority = next && next.priority + 1;
  const byPriority = priority !== undefined && priority > victim.priority && without({ priority });
  return {
    ...(byRequest ? { request: used } : {}),
    ...(byPriority ? { priority } : {}),
  };
}

/** Whether a pod uses more than it requests; one that was not measured does not. */
export const exceedsRequest = ({ used, requested }: RankedPod): boolean =>
  used !== undefined && used > requested;

/** The first thing pods are ranked by: not measured, beyond the request, within it. */
function excessClass(ranked: RankedPod): number {
  if (ranked.used === undefined) return 0;
  return exceedsRequest(ranked) ? 1 : 2;
}

/** How much more than its request a pod uses; negative when it uses less. */
const excessOf = ({ used = 0, requested }: RankedPod): number => used - requested;

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
