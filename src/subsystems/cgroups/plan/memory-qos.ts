// pure
/**
 * Protection and throttling of memory on v2 (gate MemoryQoS, KEP-2570). Requests are protected only with the policy
 * TieredReservation, and only with a throttling factor is anything slowed down. Sources: kubelet kuberuntime
 * generateLinuxContainerResources, cm ResourceConfigForPod, qosContainerManager.
 */

import { kernelBytes } from "../convert.ts";
import { allocatableMemoryBytes, type CgroupSettings } from "../settings.ts";
import type { Amounts, ContainerDemand, PodDemand } from "./demand.ts";

/** Values by file; for what does not apply there is none, so that the kernel's value stays. */
type MemoryFiles = Readonly<Record<string, string>>;

/** Whether requested memory is kept from reclaim. */
export function isTiered({ version, memoryQos }: CgroupSettings): boolean {
  return version === 2 && memoryQos?.reservation === "TieredReservation";
}

/** Files of a container's group. */
export function guardedContainer(
  settings: CgroupSettings,
  pod: PodDemand,
  container: ContainerDemand,
): MemoryFiles {
  if (settings.version !== 2) return {};
  // A container that was created while the gate was on would stay throttled.
  if (settings.memoryQos === undefined) return { "memory.high": "max" };
  const request = container.requests.memoryBytes ?? 0;
  const limit = container.limits.memoryBytes ?? 0;
  const isLimitedByPod = limit === 0 && (pod.podLevel.limits.memoryBytes ?? 0) > 0;
  return {
    "memory.min": "0",
    "memory.low": "0",
    ...protectedRequest(settings, pod, request),
    ...(isLimitedByPod ? {} : throttled(settings, request, limit)),
  };
}

/** Files of a pod's group. It is throttled where the pod has resources of its own and is limited as a whole. */
export function guardedPod(settings: CgroupSettings, pod: PodDemand): MemoryFiles {
  const { podLevel, total } = pod;
  const request = total.requests.memoryBytes;
  const limit = total.limits.memoryBytes;
  const isThrottled = isDeclared(podLevel) && total.memoryLimited && limit > 0;
  return {
    ...protectedRequest(settings, pod, request),
    ...(isThrottled ? throttled(settings, request, limit) : {}),
  };
}

function isDeclared({ requests, limits }: PodDemand["podLevel"]): boolean {
  return [requests, limits].some((amounts: Amounts) => Object.keys(amounts).length > 0);
}

function protectedRequest(
  settings: CgroupSettings,
  { qos }: PodDemand,
  requestBytes: number,
): MemoryFiles {
  if (!isTiered(settings) || requestBytes === 0) return {};
  return { [qos === "Guaranteed" ? "memory.min" : "memory.low"]: `${kernelBytes(requestBytes)}` };
}

function throttled(
  settings: CgroupSettings,
  requestBytes: number,
  limitBytes: number,
): MemoryFiles {
  const high = memoryHigh(settings, requestBytes, limitBytes);
  return high === undefined ? {} : { "memory.high": String(high) };
}

/**
 * Bytes from which a group is slowed down: the throttling factor's share of the way from request to limit (or the
 * node's allocatable memory where there is none), on a page boundary. `undefined` without a factor, when the result
 * is not above the request, and when all that is allowed is requested.
 */
export function memoryHigh(
  settings: CgroupSettings,
  requestBytes: number,
  limitBytes: number,
): number | undefined {
  const { memoryQos, version } = settings;
  if (version !== 2 || memoryQos?.throttlingFactor === undefined) return undefined;
  if (requestBytes === limitBytes && requestBytes !== 0) return undefined;
  const { throttlingFactor, pageBytes } = memoryQos;
  const upper = limitBytes > 0 ? limitBytes : allocatableMemoryBytes(settings);
  const exact = Math.floor(requestBytes + throttlingFactor * (upper - requestBytes));
  const high = Math.floor(exact / pageBytes) * pageBytes;
  return high > requestBytes ? high : undefined;
}
