// pure

import { MIN_SHARES, milliCpuToQuota, milliCpuToShares, systemdQuota } from "../convert.ts";
import { literalPath, podName } from "../names.ts";
import type { CgroupSettings } from "../settings.ts";
import { type CgroupPlan, type CgroupResources, planWrites, withFreeValues } from "../writes.ts";
import { type PodDemand, pageSizeOfResource } from "./demand.ts";
import { guardedPod } from "./memory-qos.ts";
import { hugepageLimits } from "./plan-node.ts";

/** No limit on CPU time. */
const NO_QUOTA = -1;

/**
 * The group of a pod. CPU time and memory are limited only where the whole pod is: a single container
 * without a limit leaves the pod without one. Source: kubelet cm ResourceConfigForPod.
 */
export function planPodGroup(settings: CgroupSettings, demand: PodDemand): CgroupPlan {
  const writes = planWrites(settings, podGroupResources(settings, demand));
  return {
    path: literalPath(podName(settings.root, demand.qos, demand.uid), settings.driver),
    kind: "pod",
    create: true,
    writes: withFreeValues(settings, writes, ["cpu", "memory", "pids"]),
  };
}

/** The limits of a pod's group, independent of the cgroup version. */
export function podGroupResources(settings: CgroupSettings, demand: PodDemand): CgroupResources {
  const hugepages: Record<string, number> = {};
  for (const [name, bytes] of demand.total.requests.hugepagesBytes) {
    const size = pageSizeOfResource(name);
    if (size !== undefined) hugepages[size] = bytes;
  }
  const unified = guardedPod(settings, demand);
  return {
    ...computeLimits(settings, demand),
    ...(settings.podPids > 0 ? { pids: settings.podPids } : {}),
    hugepages: hugepageLimits(hugepages, settings.hugepageSizes),
    ...(Object.keys(unified).length === 0 ? {} : { unified }),
  };
}

function computeLimits(settings: CgroupSettings, demand: PodDemand): CgroupResources {
  const { qos, total } = demand;
  if (qos === "BestEffort") return { cpuShares: MIN_SHARES };
  const isWhole = qos === "Guaranteed";
  const quotaOff = !settings.cpuCfsQuota || demand.exclusiveCpus;
  const cpuQuotaUs = quotaOff
    ? NO_QUOTA
    : keptQuota(settings, milliCpuToQuota(total.limits.cpuMilli, settings.cpuPeriodUs));
  const quota = { cpuQuotaUs, cpuPeriodUs: settings.cpuPeriodUs };
  return {
    cpuShares: milliCpuToShares(total.requests.cpuMilli),
    ...(isWhole || total.cpuLimited ? quota : {}),
    ...(isWhole || total.memoryLimited ? { memoryBytes: total.limits.memoryBytes } : {}),
  };
}

/** The quota as the driver keeps it: systemd knows whole percents of a CPU only. */
export function keptQuota(
  { driver, cpuPeriodUs }: Pick<CgroupSettings, "driver" | "cpuPeriodUs">,
  quotaUs: number,
): number {
  const isRounded = driver === "systemd" && quotaUs > 0;
  return isRounded ? systemdQuota(quotaUs, cpuPeriodUs).quotaUs : quotaUs;
}
