// pure
import type { Pod } from "../../../api/generated/types.ts";
import { podResources } from "../../../api/pod/pod-resources.ts";
import { kernelBytes, milliCpuToQuota, milliCpuToShares } from "../convert.ts";
import type { CgroupSettings } from "../settings.ts";
import { readDemandAmounts } from "./demand.ts";
import type { ContainerResources } from "./plan-container.ts";

/** CRI resources of one part of a sandbox; an absent field is left to the runtime. */
type SandboxPart = Partial<
  Pick<
    ContainerResources,
    "cpuShares" | "cpuQuota" | "cpuPeriod" | "memoryLimitInBytes" | "unified"
  >
>;

/** CRI resources of a sandbox: the sum of its containers, and the pod overhead. */
export interface SandboxResources {
  readonly resources: SandboxPart;
  readonly overhead: SandboxPart;
}

/**
 * The sums a runtime sizes a sandbox by, such as a virtual machine. Overhead counts as request and limit.
 * Source: kuberuntime applySandboxResources. `UsageError` on a value that is not a quantity.
 */
export function planSandboxGroup(
  settings: CgroupSettings,
  pod: Pod,
  exclusiveCpus = false,
): SandboxResources {
  const { overhead, ...spec } = pod.spec ?? { containers: [] };
  const { requests, limits } = podResources({ ...pod, spec });
  const { cpuMilli = 0, memoryBytes = 0 } = readDemandAmounts(overhead);
  return {
    resources: part(settings, {
      requestMilli: requests.cpuMilli || limits.cpuMilli,
      limitMilli: limits.cpuMilli,
      memoryBytes: limits.memoryBytes,
      exclusiveCpus,
    }),
    overhead: overhead
      ? part(settings, { requestMilli: cpuMilli, limitMilli: cpuMilli, memoryBytes, exclusiveCpus })
      : {},
  };
}

function part(
  settings: CgroupSettings,
  sum: {
    readonly requestMilli: number;
    readonly limitMilli: number;
    readonly memoryBytes: number;
    readonly exclusiveCpus: boolean;
  },
): SandboxPart {
  const isLimited = settings.cpuCfsQuota;
  const quota = sum.exclusiveCpus ? -1 : milliCpuToQuota(sum.limitMilli, settings.cpuPeriodUs);
  return {
    cpuShares: BigInt(milliCpuToShares(sum.requestMilli)),
    cpuQuota: BigInt(isLimited ? quota : 0),
    cpuPeriod: BigInt(isLimited ? settings.cpuPeriodUs : 0),
    memoryLimitInBytes: kernelBytes(sum.memoryBytes),
    unified:
      settings.version === 2 && !settings.singleProcessOomKill ? { "memory.oom.group": "1" } : {},
  };
}
