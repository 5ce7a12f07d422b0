// pure

import {
  DEFAULT_PERIOD_US,
  kernelBytes,
  milliCpuToQuota,
  milliCpuToShares,
  sharesToRuntimeWeight,
  sharesToWeight,
} from "../convert.ts";
import type { CgroupSettings } from "../settings.ts";
import { type CgroupShape, type CgroupWrite, withFreeValues } from "../writes.ts";
import type { ContainerDemand, PodDemand } from "./demand.ts";
import { guardedContainer } from "./memory-qos.ts";
import { oomScoreAdj } from "./oom-score.ts";
import { keptQuota } from "./plan-pod.ts";

/** `LinuxContainerResources` of CRI as far as the agent fills it. */
export interface ContainerResources {
  readonly cpuShares: bigint;
  readonly cpuQuota: bigint;
  readonly cpuPeriod: bigint;
  readonly memoryLimitInBytes: bigint;
  readonly memorySwapLimitInBytes: bigint;
  readonly oomScoreAdj: bigint;
  readonly hugepageLimits: { pageSize: string; limit: bigint }[];
  readonly unified: { [file: string]: string };
}

/** A container's limits, its own or those of its pod as a whole where it has none. */
interface EffectiveLimits {
  readonly cpuMilli: number | undefined;
  readonly memoryBytes: number;
}

/**
 * CRI resources of a container; fields that CRI leaves alone are 0.
 * Source: kubelet kuberuntime calculateLinuxResources, applyPlatformSpecificContainerConfig.
 */
export function planContainerGroup(
  settings: CgroupSettings,
  pod: PodDemand,
  container: ContainerDemand,
): ContainerResources {
  const limits = effectiveLimits(pod, container);
  const swap = planSwap(settings, pod, container, limits);
  const isLimited = settings.cpuCfsQuota;
  const quota = pod.exclusiveCpus
    ? -1
    : milliCpuToQuota(limits.cpuMilli ?? 0, settings.cpuPeriodUs);
  return {
    cpuShares: BigInt(milliCpuToShares(container.requests.cpuMilli ?? limits.cpuMilli ?? 0)),
    cpuQuota: BigInt(isLimited ? quota : 0),
    cpuPeriod: BigInt(isLimited ? settings.cpuPeriodUs : 0),
    memoryLimitInBytes: kernelBytes(limits.memoryBytes),
    memorySwapLimitInBytes: kernelBytes(swap.limitBytes),
    oomScoreAdj: BigInt(oomScoreAdj(pod, container, settings.capacity.memoryBytes ?? 0)),
    hugepageLimits: settings.hugepageSizes.map((pageSize) => ({
      pageSize,
      limit: kernelBytes(
        container.limits.hugepages?.[pageSize] ?? pod.podLevel.limits.hugepages?.[pageSize] ?? 0,
      ),
    })),
    unified: {
      ...(settings.version === 2 && !settings.singleProcessOomKill
        ? { "memory.oom.group": "1" }
        : {}),
      ...guardedContainer(settings, pod, container),
      ...swap.unified,
    },
  };
}

function effectiveLimits(pod: PodDemand, container: ContainerDemand): EffectiveLimits {
  const ownCpu = container.limits.cpuMilli || undefined;
  const ownMemory = container.limits.memoryBytes || undefined;
  return {
    cpuMilli: ownCpu ?? pod.podLevel.limits.cpuMilli ?? container.limits.cpuMilli,
    memoryBytes: ownMemory ?? pod.podLevel.limits.memoryBytes ?? 0,
  };
}

interface SwapPlan {
  readonly limitBytes: number;
  readonly unified: Readonly<Record<string, string>>;
}

const SWAP_UNTOUCHED: SwapPlan = { limitBytes: 0, unified: {} };

/** On v1 memory and swap together are limited to the memory, on v2 swap has a limit of its own. */
function planSwap(
  settings: CgroupSettings,
  pod: PodDemand,
  container: ContainerDemand,
  limits: EffectiveLimits,
): SwapPlan {
  if (!settings.swap.controlled) return SWAP_UNTOUCHED;
  if (settings.version === 1) return { limitBytes: limits.memoryBytes, unified: {} };
  const bytes = swapBytes(settings, pod, container);
  return { limitBytes: 0, unified: { "memory.swap.max": String(bytes) } };
}

/**
 * Swap in proportion to the memory request, for burstable containers that are not critical and may use
 * more than they request; all others get none. Source: kubelet calcSwapForBurstablePods.
 */
export function swapBytes(
  settings: CgroupSettings,
  pod: PodDemand,
  container: ContainerDemand,
): number {
  const { behavior, bytes } = settings.swap;
  const request = container.requests.memoryBytes ?? 0;
  const nodeBytes = settings.capacity.memoryBytes ?? 0;
  const mayUse = behavior === "LimitedSwap" && pod.qos === "Burstable" && !pod.critical;
  const isBounded = request === 0 || request === container.limits.memoryBytes;
  if (!mayUse || isBounded || nodeBytes <= 0 || request > nodeBytes) return 0;
  return Math.floor((request / nodeBytes) * bytes);
}

/** Which weight a runtime makes of shares: older ones a straight line, newer ones a curve. */
export type RuntimeWeights = "linear" | "quadratic";

/**
 * The values that a container's own group shows once an OCI runtime has applied `resources`; only what
 * the runtime sets. For showing a plan and comparing it with the machine.
 */
export function expectContainerFiles(
  shape: CgroupShape & Pick<CgroupSettings, "driver" | "cpuPeriodUs">,
  resources: ContainerResources,
  weights: RuntimeWeights,
): readonly CgroupWrite[] {
  const writes =
    shape.version === 1 ? filesV1(shape, resources) : filesV2(shape, resources, weights);
  const known = writes.filter(({ file }) =>
    shape.controllers.has(file.slice(0, file.indexOf("."))),
  );
  return withFreeValues(shape, known, ["cpu", "memory"]);
}

type ContainerShape = Parameters<typeof expectContainerFiles>[0];

function filesV1(shape: ContainerShape, resources: ContainerResources): CgroupWrite[] {
  const { cpuShares, cpuQuota, cpuPeriod, memoryLimitInBytes, memorySwapLimitInBytes } = resources;
  const rows: readonly (readonly [string, bigint, bigint])[] = [
    ["cpu.shares", cpuShares, cpuShares],
    ["cpu.cfs_period_us", cpuPeriod, cpuPeriod],
    ["cpu.cfs_quota_us", cpuQuota, runtimeQuota(shape, resources)],
    ["memory.limit_in_bytes", memoryLimitInBytes, memoryLimitInBytes],
    ["memory.memsw.limit_in_bytes", memorySwapLimitInBytes, memorySwapLimitInBytes],
  ];
  const writes = rows.flatMap(([file, given, value]): CgroupWrite[] =>
    given === 0n ? [] : [{ file, value: String(value) }],
  );
  return [...writes, ...hugepageFiles(resources, "limit_in_bytes")];
}

function filesV2(
  shape: ContainerShape,
  resources: ContainerResources,
  weights: RuntimeWeights,
): CgroupWrite[] {
  const { cpuShares, cpuQuota, cpuPeriod, memoryLimitInBytes } = resources;
  const toWeight = weights === "linear" ? sharesToWeight : sharesToRuntimeWeight;
  const writes: CgroupWrite[] = [
    { file: "cpu.weight", value: String(toWeight(Number(cpuShares))) },
  ];
  if (cpuPeriod !== 0n || cpuQuota !== 0n) {
    const quota = cpuQuota > 0n ? String(runtimeQuota(shape, resources)) : "max";
    writes.push({ file: "cpu.max", value: `${quota} ${cpuPeriod || DEFAULT_PERIOD_US}` });
  }
  if (memoryLimitInBytes !== 0n) {
    writes.push({ file: "memory.max", value: String(memoryLimitInBytes) });
  }
  for (const [file, value] of Object.entries(resources.unified)) writes.push({ file, value });
  return [...writes, ...hugepageFiles(resources, "max")];
}

function hugepageFiles({ hugepageLimits }: ContainerResources, suffix: string): CgroupWrite[] {
  return hugepageLimits.map(({ pageSize, limit }) => ({
    file: `hugetlb.${pageSize}.${suffix}`,
    value: String(limit),
    optional: true,
  }));
}

/** Runtimes with the systemd driver round a quota as the agent does. */
function runtimeQuota(shape: ContainerShape, { cpuQuota, cpuPeriod }: ContainerResources): bigint {
  const cpuPeriodUs = Number(cpuPeriod) || DEFAULT_PERIOD_US;
  return BigInt(keptQuota({ driver: shape.driver, cpuPeriodUs }, Number(cpuQuota)));
}
