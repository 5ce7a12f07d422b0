// pure

import { kernelBytes, MIN_SHARES, milliCpuToShares } from "../convert.ts";
import { literalPath, tierName } from "../names.ts";
import { allocatableMemoryBytes, type CgroupSettings } from "../settings.ts";
import {
  type CgroupPlan,
  type CgroupResources,
  type CgroupWrite,
  planWrites,
  withFreeValues,
} from "../writes.ts";
import type { PodDemand } from "./demand.ts";
import { isTiered } from "./memory-qos.ts";

/** Files by which memory is kept from reclaim. */
const PROTECTION = ["memory.min", "memory.low"];

/** Total requests of the pods of each QoS class. */
interface TierSums {
  readonly burstableCpuMilli: number;
  readonly guaranteedMemoryBytes: number;
  readonly burstableMemoryBytes: number;
}

/** Classes may use any number of huge pages; pods are what is limited. */
const UNBOUNDED_HUGEPAGES = 2n ** 62n;

/** Least limit that is written: 0 would mean "leave as it is". The kernel rounds it down to nothing. */
const MIN_LIMIT_BYTES = 1;

/** Sums over the given pods, overhead and sidecars included. */
export function sumTiers(demands: readonly PodDemand[]): TierSums {
  let burstableCpuMilli = 0;
  let guaranteedMemoryBytes = 0;
  let burstableMemoryBytes = 0;
  for (const { qos, total } of demands) {
    if (qos === "Guaranteed") guaranteedMemoryBytes += total.requests.memoryBytes;
    if (qos !== "Burstable") continue;
    burstableCpuMilli += total.requests.cpuMilli;
    burstableMemoryBytes += total.requests.memoryBytes;
  }
  return { burstableCpuMilli, guaranteedMemoryBytes, burstableMemoryBytes };
}

/** Memory of all pods together that reclaim may not touch, and that it may touch last; 0 where none is protected. */
export interface ProtectedMemory {
  readonly minBytes: number;
  readonly lowBytes: number;
}

/** What the group of all pods protects for these pods. */
export function protectedMemory(
  settings: CgroupSettings,
  demands: readonly PodDemand[],
): ProtectedMemory {
  if (!isTiered(settings)) return { minBytes: 0, lowBytes: 0 };
  const { guaranteedMemoryBytes, burstableMemoryBytes } = sumTiers(demands);
  return {
    minBytes: guaranteedMemoryBytes + burstableMemoryBytes,
    lowBytes: burstableMemoryBytes,
  };
}

/** Memory limits of the two classes when a share of the better classes' requests is kept for them. */
interface TierLimits {
  readonly burstableBytes: number;
  readonly bestEffortBytes: number;
}

/**
 * Limits by `qosReserved`, each product rounded down; `undefined` when the node's memory is not known.
 * Source: kubelet cm setMemoryReserve. Requests above what there is leave a limit of 0.
 */
export function reservedLimits(
  allocatableBytes: number,
  percent: number,
  sums: TierSums,
): TierLimits | undefined {
  if (allocatableBytes <= 0) return undefined;
  const share = (bytes: number) => Math.floor((bytes * percent) / 100);
  const burstable = allocatableBytes - share(sums.guaranteedMemoryBytes);
  const bestEffort = burstable - share(sums.burstableMemoryBytes);
  return { burstableBytes: Math.max(0, burstable), bestEffortBytes: Math.max(0, bestEffort) };
}

/**
 * The groups of the burstable and the best-effort pods, and what the group of all pods protects for MemoryQoS, for
 * the pods that are active now. With `qosReserved` off its limits are lifted, because those of an earlier
 * configuration would stay otherwise. Source: kubelet qosContainerManager.
 */
export function planQos(
  settings: CgroupSettings,
  demands: readonly PodDemand[],
): readonly CgroupPlan[] {
  const sums = sumTiers(demands);
  const percent = settings.qosReservedMemoryPercent;
  const limits =
    percent === undefined
      ? undefined
      : reservedLimits(allocatableMemoryBytes(settings), percent, sums);
  const isUnknown = percent !== undefined && limits === undefined;
  const memory = (bytes: number | undefined): CgroupResources => {
    if (isUnknown) return {};
    if (bytes === undefined) return { memoryBytes: -1 };
    return { memoryBytes: Math.max(bytes, MIN_LIMIT_BYTES), memoryMayBeInUse: true };
  };
  const hugepages = unboundedHugepages(settings);
  const burstable: CgroupResources = {
    cpuShares: milliCpuToShares(sums.burstableCpuMilli),
    ...memory(limits?.burstableBytes),
    hugepages,
  };
  const bestEffort: CgroupResources = {
    cpuShares: MIN_SHARES,
    ...memory(limits?.bestEffortBytes),
    hugepages,
  };
  return [
    ...planProtection(settings, protectedMemory(settings, demands)),
    planTier(
      settings,
      "Burstable",
      burstable,
      protection(settings, { "memory.low": sums.burstableMemoryBytes }),
    ),
    planTier(settings, "BestEffort", bestEffort),
  ];
}

/**
 * The groups as they must be before pods are known. What depends on pods stays as it is, so that pods which
 * outlived the agent keep their share; without TieredReservation memory that an earlier configuration protected is
 * given back.
 */
export function planQosStart(settings: CgroupSettings): readonly CgroupPlan[] {
  const hugepages = unboundedHugepages(settings);
  const lifted = (files: readonly string[]) =>
    isTiered(settings) ? [] : unprotected(settings, files);
  const ofAll = lifted(PROTECTION);
  return [
    ...(ofAll.length === 0 ? [] : [allPods(settings, ofAll)]),
    planTier(settings, "Burstable", { hugepages }, lifted(["memory.low"])),
    planTier(settings, "BestEffort", { cpuShares: MIN_SHARES, hugepages }),
  ];
}

function unboundedHugepages(settings: CgroupSettings): Readonly<Record<string, bigint>> {
  return Object.fromEntries(settings.hugepageSizes.map((size) => [size, UNBOUNDED_HUGEPAGES]));
}

function planTier(
  settings: CgroupSettings,
  qos: "Burstable" | "BestEffort",
  resources: CgroupResources,
  more: readonly CgroupWrite[] = [],
): CgroupPlan {
  const path = literalPath(tierName(settings.root, qos), settings.driver);
  const planned = [...planWrites(settings, resources), ...more];
  const writes = withFreeValues(settings, planned, ["cpu"]);
  return { path, kind: "tier", create: true, writes };
}

/**
 * The group of all pods, with the memory that reclaim leaves alone in it: what is requested altogether cannot be taken
 * at all, and of that the burstable pods' part only last.
 */
function planProtection(
  settings: CgroupSettings,
  { minBytes, lowBytes }: ProtectedMemory,
): readonly CgroupPlan[] {
  // With the gate off the node's own plan holds these values.
  if (settings.memoryQos === undefined) return [];
  const writes = protection(settings, { "memory.min": minBytes, "memory.low": lowBytes });
  return writes.length === 0 ? [] : [allPods(settings, writes)];
}

/**
 * Writes of protected bytes by file. Where requests are not protected the kernel's 0 is expected and not written:
 * the start has lifted what an earlier configuration left.
 */
function protection(
  settings: CgroupSettings,
  bytes: Readonly<Record<string, number>>,
): readonly CgroupWrite[] {
  if (isTiered(settings)) {
    const unified = Object.entries(bytes).map(([file, value]) => [file, `${kernelBytes(value)}`]);
    return planWrites(settings, { unified: Object.fromEntries(unified) });
  }
  return unprotected(settings, Object.keys(bytes)).map((write) => ({ ...write, asFound: true }));
}

/** Writes that lift the protection of memory. */
function unprotected(settings: CgroupSettings, files: readonly string[]): readonly CgroupWrite[] {
  if (settings.version !== 2) return [];
  return planWrites(settings, { unified: Object.fromEntries(files.map((file) => [file, "0"])) });
}

function allPods(settings: CgroupSettings, writes: readonly CgroupWrite[]): CgroupPlan {
  const path = literalPath(tierName(settings.root, "Guaranteed"), settings.driver);
  return { path, kind: "node", create: true, writes };
}
