// pure
/** How events are handled: the bounds of memory, disk and writes, and which events are dropped first. */
import type { CoreEvent } from "../../api/generated/types.ts";
import type { Budget } from "../../kit/limits/token-budget.ts";
import type { SimilarLimits } from "./correlate.ts";
import { combinedMessage } from "./correlate.ts";
import { similarKey, similarKeyByContainer, spamKey, spamKeyByReason } from "./event-keys.ts";
import { HISTORY_BYTES } from "./history-lines.ts";
import { laneOf } from "./lanes.ts";

/**
 * `Protected`: steps of life travel in a lane of their own, nothing that matters is lost while the API
 * server is away. `Reference`: exactly what the kubelet does, losses included.
 */
export type EventMode = "Protected" | "Reference";

/** Keys by which similar events are grouped and distinguished. */
interface SimilarKey {
  readonly key: string;
  readonly differsBy: string;
}

/** Settings of the correlator; what is left out is the default of the mode (client-go CorrelatorOptions). */
export interface CorrelatorOptions {
  /** Entries of each of the three caches. */
  readonly cacheSize?: number;
  /** Writes about one object, or whatever `spamKey` makes of it, that may come at once. */
  readonly spamBurst?: number;
  /** Writes per second that come back into that budget. */
  readonly spamQps?: number;
  /** Which events are similar: a key, and the text they differ in. */
  readonly similarKey?: (event: CoreEvent) => SimilarKey;
  /** The message of an event that stands for similar ones. */
  readonly similarMessage?: (event: CoreEvent) => string;
  /** So many different similar events become one. */
  readonly similarLimit?: number;
  /** Similar events are forgotten when none came for longer than this. */
  readonly similarIntervalSeconds?: number;
  /** Which events share a budget of writes. */
  readonly spamKey?: (event: CoreEvent) => string;
  /** Takes the place of the budgets: true for an event that must not be sent. */
  readonly filter?: (event: CoreEvent) => boolean;
}

/** The node owner's policy for events; absent fields have their defaults. */
export interface EventPolicy {
  readonly mode?: EventMode;
  readonly correlator?: CorrelatorOptions;
  /** Events that may wait for the API server, in memory and on disk; `Protected` only. */
  readonly waitingEvents?: number;
  /** Bytes they may take. */
  readonly waitingBytes?: number;
  /** Bytes of disk for the history of events, half of them for steps of life. */
  readonly historyBytes?: number;
}

/** All settings of a correlator. */
export interface CorrelatorRules {
  readonly cacheSize: number;
  readonly similar: SimilarLimits;
  /** `object` is the event's `objectKey`. */
  readonly similarKeyOf: (event: CoreEvent, object: string) => SimilarKey;
  readonly similarMessage: (event: CoreEvent) => string;
  readonly spamKeyOf: (event: CoreEvent, object: string) => string;
  readonly budgetOf: (event: CoreEvent) => Budget;
  readonly filter: ((event: CoreEvent) => boolean) | undefined;
}

/** All settings of the module. */
export interface EventRules {
  readonly mode: EventMode;
  readonly correlator: CorrelatorRules;
  readonly inboundLimit: number;
  readonly watcherLimit: number;
  readonly waitingEvents: number;
  readonly waitingBytes: number;
  readonly historyBytes: number;
}

/** Constants of the Go kubelet. */
export const REFERENCE = {
  cacheSize: 4096,
  similarLimit: 10,
  similarIntervalSeconds: 600,
  spamBurst: 25,
  spamQps: 1 / 300,
  queueLength: 1000,
  tries: 12,
  pauseMs: 10_000,
} as const;

/** A step of life comes back at least this often: a crash loop at its longest back-off takes one in 300 s. */
const LIFECYCLE_BUDGET: Budget = { burst: REFERENCE.spamBurst, intervalMs: 60_000 };
/** Longer than the Go kubelet's queue, because steps of life may use what others may not. */
const PROTECTED_INBOUND = 8_192;
/** Capacity for a burst of ten thousand with a slow server. */
const WAITING_EVENTS = 16_384;
const WAITING_BYTES = 16 * 1024 * 1024;

/** The policy with everything filled in. Settings of zero mean their default, as in the Go kubelet. */
export function eventRules(policy: EventPolicy = {}): EventRules {
  const mode = policy.mode ?? "Protected";
  return {
    mode,
    correlator: correlatorRules(policy.correlator, mode),
    inboundLimit: mode === "Reference" ? REFERENCE.queueLength : PROTECTED_INBOUND,
    watcherLimit: REFERENCE.queueLength,
    waitingEvents: policy.waitingEvents || WAITING_EVENTS,
    waitingBytes: policy.waitingBytes || WAITING_BYTES,
    historyBytes: policy.historyBytes || HISTORY_BYTES,
  };
}

/** The correlator's settings with everything filled in. */
export function correlatorRules(
  options: CorrelatorOptions = {},
  mode: EventMode = "Protected",
): CorrelatorRules {
  const protects = mode === "Protected";
  const ordinary: Budget = {
    burst: options.spamBurst || REFERENCE.spamBurst,
    intervalMs: options.spamQps ? 1000 / options.spamQps : 300_000,
  };
  const isLife = (event: CoreEvent) => protects && laneOf(event.reason) === "lifecycle";
  const custom = options.spamBurst || options.spamQps;
  return {
    cacheSize: options.cacheSize || REFERENCE.cacheSize,
    similar: {
      messages: options.similarLimit || REFERENCE.similarLimit,
      intervalMs: (options.similarIntervalSeconds || REFERENCE.similarIntervalSeconds) * 1000,
    },
    similarKeyOf:
      options.similarKey ??
      ((event, object) => ({
        key: isLife(event) ? similarKeyByContainer(event, object) : similarKey(event, object),
        differsBy: event.message ?? "",
      })),
    similarMessage: options.similarMessage ?? combinedMessage,
    spamKeyOf: options.spamKey ?? (protects ? spamKeyByReason : spamKey),
    budgetOf: (event) => (isLife(event) && !custom ? LIFECYCLE_BUDGET : ordinary),
    filter: options.filter,
  };
}
