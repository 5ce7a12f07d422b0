// pure

import { deriveReservations } from "../../config/derive.ts";
import { gatesInForce } from "../../config/gates/feature-gates.ts";
import type { KubeletConfig } from "../../config/kubelet-config.ts";
import { readPercentage } from "../../config/validation/validate-node.ts";
import type { CgroupDriver } from "./names.ts";
import type { CgroupOptions } from "./options.ts";
import type { MemoryQos } from "./settings.ts";

/** Settings that are derived, or not in the configuration. */
interface ConfigSurroundings {
  /** The cgroup driver that the runtime reports; absent when it does not. */
  readonly runtimeDriver?: CgroupDriver;
  readonly pageBytes: number;
}

/** Memory pages of the architectures that nodelet runs on, by default. */
export const USUAL_PAGE_BYTES = 4096;

/** The part of the configuration that concerns cgroups. */
export function cgroupOptionsOf(
  config: KubeletConfig,
  { runtimeDriver, pageBytes }: ConfigSurroundings,
): CgroupOptions {
  const gates = gatesInForce(config);
  const percent = gates.isEnabled("QOSReserved")
    ? readPercentage(config.qosReserved["memory"] ?? "")
    : undefined;
  const memoryQos = gates.isEnabled("MemoryQoS") ? memoryQosOf(config, pageBytes) : undefined;
  return {
    driver: runtimeDriver ?? config.cgroupDriver,
    cgroupRoot: config.cgroupRoot,
    cgroupsPerQos: config.cgroupsPerQOS,
    ...deriveReservations(config),
    enforceNodeAllocatable: config.enforceNodeAllocatable,
    systemReservedCgroup: config.systemReservedCgroup,
    kubeReservedCgroup: config.kubeReservedCgroup,
    cpuCfsQuota: config.cpuCFSQuota,
    cpuCfsQuotaPeriodUs: Math.round(config.cpuCFSQuotaPeriod * 1000),
    podPidsLimit: config.podPidsLimit,
    ...(typeof percent === "number" ? { qosReservedMemoryPercent: percent } : {}),
    ...(memoryQos === undefined ? {} : { memoryQos }),
    singleProcessOomKill: config.singleProcessOOMKill ?? false,
    swapBehavior: config.memorySwap.swapBehavior === "LimitedSwap" ? "LimitedSwap" : "NoSwap",
  };
}

function memoryQosOf(config: KubeletConfig, pageBytes: number): MemoryQos {
  const { memoryReservationPolicy, memoryThrottlingFactor } = config;
  return {
    reservation: memoryReservationPolicy === "TieredReservation" ? "TieredReservation" : "None",
    ...(memoryThrottlingFactor === undefined ? {} : { throttlingFactor: memoryThrottlingFactor }),
    pageBytes,
  };
}
