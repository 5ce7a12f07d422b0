// pure
import type { KubeletConfig } from "../../config/kubelet-config.ts";
import type { VerificationPolicy } from "./credentials/pulled-record.ts";
import { KEEP_NOTHING, type KeepRules } from "./gc/keep-rules.ts";
import type { GcOrder, GcPolicy } from "./gc/plan-gc.ts";
import type { PullerOptions } from "./pull/puller.ts";

/** Image policy of the node's owner, beside the KubeletConfiguration. */
export interface ImagePolicy {
  readonly keep?: Partial<KeepRules>;
  readonly order?: GcOrder;
}

/** All settings of the module. */
export interface ImageSettings {
  readonly gc: GcPolicy;
  /** Whether the periodic pass removes anything; disk pressure does in any case. */
  readonly periodic: boolean;
  readonly pulls: PullerOptions;
  readonly verification: {
    readonly policy: VerificationPolicy | undefined;
    readonly allowlist: readonly string[];
  };
}

/** Pulls at once when they are serialised: one from each registry, so many registries. */
const SERIAL_LANES = 10;

/** The settings out of the configuration. */
export function imageSettings(config: KubeletConfig, policy: ImagePolicy = {}): ImageSettings {
  const { imageGCHighThresholdPercent: highPercent, imageMaximumGCAge: maxAgeMs } = config;
  const limit = config.maxParallelImagePulls ?? Number.POSITIVE_INFINITY;
  return {
    gc: {
      highPercent,
      lowPercent: config.imageGCLowThresholdPercent,
      minAgeMs: config.imageMinimumGCAge,
      maxAgeMs,
      order: policy.order ?? "leastRecentlyUsed",
      keep: { ...KEEP_NOTHING, ...policy.keep },
    },
    periodic: highPercent < 100 || maxAgeMs > 0,
    pulls: {
      ...(config.serializeImagePulls
        ? { limit: SERIAL_LANES, perRegistry: 1 }
        : { limit, perRegistry: limit }),
      qps: config.registryPullQPS,
      burst: config.registryBurst,
    },
    verification: {
      policy: config.imagePullCredentialsVerificationPolicy as VerificationPolicy | undefined,
      allowlist: config.preloadedImagesVerificationAllowlist,
    },
  };
}
