// pure

import { kernelBytes, milliCpuToShares } from "../convert.ts";
import { literalPath, parsePath, tierName } from "../names.ts";
import { type CgroupSettings, type NodeAmounts, podsBudget } from "../settings.ts";
import { type CgroupPlan, planWrites, withFreeValues } from "../writes.ts";

/**
 * The group of all pods: CPU shares, memory, pids and huge pages of what is left to pods. CPU time is
 * not limited. With MemoryQoS off no memory in it is kept from reclaim. Source: kubelet cm enforceNodeAllocatableCgroups.
 */
export function planNode(settings: CgroupSettings): CgroupPlan {
  const isOff = settings.version === 2 && settings.memoryQos === undefined;
  const writes = planWrites(settings, {
    ...nodeResources(podsBudget(settings), settings.hugepageSizes),
    ...(settings.cpus === undefined ? {} : { cpus: settings.cpus }),
    ...(isOff ? { unified: { "memory.min": "0", "memory.low": "0" } } : {}),
  });
  return {
    path: literalPath(tierName(settings.root, "Guaranteed"), settings.driver),
    kind: "node",
    create: true,
    writes: withFreeValues(settings, writes, ["cpu"]),
  };
}

function nodeResources(amounts: NodeAmounts, sizes: readonly string[]) {
  const { cpuMilli = 0, memoryBytes = 0, pids = 0, hugepages = {} } = amounts;
  return {
    cpuShares: milliCpuToShares(cpuMilli),
    memoryBytes,
    pids,
    hugepages: hugepageLimits(hugepages, sizes),
  };
}

/** Bytes for every size of the machine; those not mentioned may not be used at all. */
export function hugepageLimits(
  bytes: Readonly<Record<string, number>>,
  sizes: readonly string[],
): Readonly<Record<string, bigint>> {
  return Object.fromEntries(sizes.map((size) => [size, kernelBytes(bytes[size] ?? 0)]));
}

/**
 * Limits on the machine's own groups, where their reservation is enforced. These groups are never made.
 * Source: kubelet cm enforceExistingCgroup.
 */
export function planReserved(settings: CgroupSettings): readonly CgroupPlan[] {
  return settings.reservedGroups.map(({ path: given, amounts, compressibleOnly }) => {
    const path = literalPath(parsePath(given, settings.driver), settings.driver);
    const { cpuShares, memoryBytes, pids } = nodeResources(amounts, []);
    const sizes = Object.keys(amounts.hugepages ?? {});
    const hugepages = hugepageLimits(amounts.hugepages ?? {}, sizes);
    const resources = compressibleOnly
      ? { cpuShares }
      : { cpuShares, memoryBytes, pids, hugepages };
    return { path, kind: "reserved", create: false, writes: planWrites(settings, resources) };
  });
}
