// pure

import { literalPath, tierName } from "../names.ts";
import { allocatableMemoryBytes, type CgroupSettings } from "../settings.ts";
import { MIN_SHARES, milliCpuToShares } from "./convert.ts";
import type { PodDemand } from "./demand.ts";
import { type CgroupPlan, type CgroupResources, planWrites, withFreeValues } from "./writes.ts";

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
 * The groups of the burstable and the best-effort pods, and what the group of all pods guards for
 * MemoryQoS, for the pods that are active now. With `qosReserved` or MemoryQoS off their values are lifted,
 * because those of an earlier configuration would stay otherwise. Source: kubelet qosContainerManager.
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
    ...guarded(settings, "memory.low", sums.burstableMemoryBytes),
  };
  const bestEffort: CgroupResources = {
    cpuShares: MIN_SHARES,
    ...memory(limits?.bestEffortBytes),
    hugepages,
  };
  return [
    ...planGuard(settings, sums),
    planTier(settings, "Burstable", burstable),
    planTier(settings, "BestEffort", bestEffort),
  ];
}

/**
 * The two groups as they must be before pods are known. What depends on pods stays as it is, so that
 * pods which outlived the agent keep their share.
 */
export function planQosStart(settings: CgroupSettings): readonly CgroupPlan[] {
  const hugepages = unboundedHugepages(settings);
  return [
    planTier(settings, "Burstable", { hugepages }),
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
): CgroupPlan {
  const path = literalPath(tierName(settings.root, qos), settings.driver);
  const writes = withFreeValues(settings, planWrites(settings, resources), ["cpu"]);
  return { path, kind: "tier", create: true, writes };
}

/** Memory that reclaim leaves alone, nothing with the policy None or MemoryQoS off; only v2 knows it. */
function guarded(settings: CgroupSettings, file: string, bytes: number): CgroupResources {
  const { memoryQos, version } = settings;
  if (version !== 2) return {};
  const value = memoryQos?.reservation === "TieredReservation" ? bytes : 0;
  return { unified: { [file]: String(value) } };
}

function planGuard(settings: CgroupSettings, sums: TierSums): readonly CgroupPlan[] {
  const bytes = sums.guaranteedMemoryBytes + sums.burstableMemoryBytes;
  const writes = planWrites(settings, guarded(settings, "memory.min", bytes));
  if (writes.length === 0) return [];
  const path = literalPath(tierName(settings.root, "Guaranteed"), settings.driver);
  return [{ path, kind: "node", create: true, writes }];
}
