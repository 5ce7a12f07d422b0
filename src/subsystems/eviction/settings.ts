// pure
import type { KubeletConfig } from "../../config/kubelet-config.ts";
import type { EvictionRules } from "./plan.ts";
import { evictionThresholds } from "./thresholds.ts";

/** Settings of eviction from the configuration; how disks are laid out is found on the machine. */
export type EvictionSettings = Omit<EvictionRules, "layout">;

/** The settings of a validated configuration. */
export function evictionSettings(config: KubeletConfig): EvictionSettings {
  return {
    thresholds: evictionThresholds(config),
    transitionMs: config.evictionPressureTransitionPeriod,
    maxPodGraceSeconds: config.evictionMaxPodGracePeriod,
    localLimits: config.localStorageCapacityIsolation,
  };
}
