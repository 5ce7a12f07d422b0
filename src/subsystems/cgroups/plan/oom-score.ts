// pure
import { smallest } from "../../../kit/limits/lists.ts";
import type { ContainerDemand, PodDemand } from "./demand.ts";

const GUARANTEED = -997;
const BEST_EFFORT = 1000;

/** Least of a burstable container: above what a guaranteed one reaches with all of the memory. */
const BURSTABLE_LEAST = 1000 + GUARANTEED;

/**
 * `oom_score_adj` of a container: the more memory it requests, the later it is killed.
 * Source: kubelet qos.GetContainerOOMScoreAdjust.
 */
export function oomScoreAdj(
  pod: PodDemand,
  container: ContainerDemand,
  nodeMemoryBytes: number,
): number {
  if (pod.nodeCritical || pod.qos === "Guaranteed") return GUARANTEED;
  if (pod.qos === "BestEffort" || nodeMemoryBytes <= 0) return BEST_EFFORT;
  const extra = unclaimedPerContainer(pod);
  const score = (requestBytes: number) =>
    1000 - Number((1000n * BigInt(requestBytes + extra)) / BigInt(nodeMemoryBytes));
  let value = score(container.requests.memoryBytes ?? 0);
  if (container.kind === "sidecar") value = Math.min(value, score(leastRegularRequest(pod)));
  if (value < BURSTABLE_LEAST) return BURSTABLE_LEAST;
  return value === BEST_EFFORT ? BEST_EFFORT - 1 : value;
}

/** A sidecar must outlive the regular containers, so it takes part in the least of their requests. */
function leastRegularRequest(pod: PodDemand): number {
  const requests = pod.containers
    .filter(({ kind }) => kind === "regular")
    .map(({ requests }) => requests.memoryBytes ?? 0);
  return requests.length === 0 ? 0 : smallest(requests);
}

/**
 * The pod's own request that no container claims, divided equally among all containers; never below 0, where it requests
 * less than they do.
 */
function unclaimedPerContainer(pod: PodDemand): number {
  const own = pod.podLevel.requests.memoryBytes ?? 0;
  const count = pod.containers.length;
  if (own === 0 || count === 0) return 0;
  return Math.trunc(Math.max(0, own - pod.containersMemoryBytes) / count);
}
