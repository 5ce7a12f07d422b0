// pure

import { EVICTION_SIGNALS, type EvictionSignal } from "../../api/node/eviction-signals.ts";
import { parseDuration } from "../../api/text/duration.ts";
import {
  canonicalQuantity,
  formatQuantity,
  quantityFromBytes,
  quantityValue,
} from "../../api/text/quantity.ts";
import { deriveEvictionHard, withoutDisabledSignals } from "../../config/derive.ts";
import { type EvictionAmount, readEvictionAmount } from "../../config/eviction-thresholds.ts";
import type { KubeletConfig, TextMap } from "../../config/kubelet-config.ts";
import { InvariantError } from "../../kit/errors.ts";
import type { SignalObservation, SignalObservations } from "./observations.ts";
import type { DiskLayout } from "./signals.ts";

/** Less than this must not be left of what a signal measures. */
export interface Threshold {
  readonly signal: EvictionSignal;
  readonly amount: EvictionAmount;
  /** How much more than the amount there must be before the threshold counts as resolved. */
  readonly minReclaim: EvictionAmount | undefined;
  /** How long it must be met before a pod is evicted; 0 of a hard threshold. */
  readonly graceMs: number;
}

/** The part of the configuration that thresholds are made of. */
export type ThresholdConfig = Pick<
  KubeletConfig,
  | "evictionHard"
  | "evictionSoft"
  | "evictionSoftGracePeriod"
  | "evictionMinimumReclaim"
  | "mergeDefaultEvictionSettings"
  | "enforceNodeAllocatable"
>;

/**
 * The thresholds of a validated configuration: the hard ones, the soft ones, and, where pods are held to what
 * they may use of the node, hard memory once more for their cgroup (helpers.go ParseThresholdConfig).
 */
export function evictionThresholds(config: ThresholdConfig): readonly Threshold[] {
  const { evictionMinimumReclaim, evictionSoft, evictionSoftGracePeriod } = config;
  const read = (map: TextMap, graceOf: (signal: EvictionSignal) => number) =>
    EVICTION_SIGNALS.flatMap((signal): readonly Threshold[] => {
      const text = map[signal];
      if (text === undefined) return [];
      const reclaim = evictionMinimumReclaim[signal];
      const minReclaim = reclaim === undefined ? undefined : amountOf(reclaim);
      return [{ signal, amount: amountOf(text), minReclaim, graceMs: graceOf(signal) }];
    });
  const hard = read(deriveEvictionHard(config), () => 0);
  const soft = read(withoutDisabledSignals(evictionSoft), (signal) =>
    graceMsOf(evictionSoftGracePeriod[signal] ?? "0s"),
  );
  const memory = hard.filter(({ signal }) => signal === "memory.available");
  const enforced = config.enforceNodeAllocatable.includes("pods") ? memory : [];
  return [
    ...hard,
    ...soft,
    ...enforced.map((threshold) => ({ ...threshold, signal: ALLOCATABLE_MEMORY })),
  ];
}

const ALLOCATABLE_MEMORY: EvictionSignal = "allocatableMemory.available";

function amountOf(text: string): EvictionAmount {
  const reading = readEvictionAmount(text);
  if (reading.ok) return reading.amount;
  throw new InvariantError(`eviction amount ${text} was not validated: ${reading.error}`);
}

const NANOS_IN_MS = 1_000_000n;

function graceMsOf(text: string): number {
  const parsed = parseDuration(text);
  if (parsed.ok) return Number(parsed.nanoseconds / NANOS_IN_MS);
  throw new InvariantError(`grace period ${text} was not validated: ${parsed.error}`);
}

/**
 * The thresholds with those of writable layers, which cannot be set: they are those of the file system that
 * the layers share (helpers.go UpdateContainerFsThresholds).
 */
export function thresholdsFor(
  thresholds: readonly Threshold[],
  layout: DiskLayout,
): readonly Threshold[] {
  const source = layout === "dedicated" ? "imagefs" : "nodefs";
  const others = thresholds.filter(({ signal }) => !signal.startsWith("containerfs."));
  const copies = others.flatMap((threshold): readonly Threshold[] => {
    if (threshold.signal === `${source}.available`)
      return [{ ...threshold, signal: "containerfs.available" }];
    if (threshold.signal === `${source}.inodesFree`)
      return [{ ...threshold, signal: "containerfs.inodesFree" }];
    return [];
  });
  return [...others, ...copies];
}

/** The thresholds with these hard ones in place of those that their signals have. */
export function replaceHard(
  thresholds: readonly Threshold[],
  hard: ReadonlyMap<EvictionSignal, EvictionAmount>,
): readonly Threshold[] {
  const kept = thresholds.filter((threshold) => !isHard(threshold) || !hard.has(threshold.signal));
  const others = [...hard].map(([signal, amount]): Threshold => {
    const { minReclaim } = thresholds.find((each) => each.signal === signal) ?? {};
    return { signal, amount, minReclaim, graceMs: 0 };
  });
  return [...others, ...kept];
}

/** Whether pods are evicted as soon as the threshold is met. */
export const isHard = ({ graceMs }: Threshold): boolean => graceMs === 0;

/** One threshold among others, also after they were read again. */
export function thresholdKey({ signal, amount, graceMs }: Threshold): string {
  const text = amount.kind === "share" ? `${amount.share}` : formatQuantity(amount.quantity);
  return `${signal}<${text} ${graceMs}`;
}

/** An amount in bytes, inodes or processes. */
export function amountIn(amount: EvictionAmount, capacity: number): number {
  if (amount.kind === "quantity") return Number(quantityValue(amount.quantity));
  // The Go kubelet keeps shares as 32 bit floats and cuts the product off.
  return Math.trunc(capacity * Math.fround(amount.share));
}

/** The amount of a threshold as the Go kubelet writes it. */
export function thresholdText({ amount }: Threshold, { capacity }: SignalObservation): string {
  return amount.kind === "quantity"
    ? formatQuantity(amount.quantity)
    : canonicalQuantity(quantityFromBytes(amountIn(amount, capacity)));
}

/** Amount that must be available for a threshold not to be met; with `minReclaim`, for it to be resolved. */
export function requiredAmount(
  threshold: Threshold,
  capacity: number,
  minReclaim: boolean = false,
): number {
  const extra = minReclaim && threshold.minReclaim ? amountIn(threshold.minReclaim, capacity) : 0;
  return amountIn(threshold.amount, capacity) + extra;
}

/** The thresholds of which less is left than they require; those of signals that were not measured are not met. */
export function thresholdsMet(
  thresholds: readonly Threshold[],
  observations: SignalObservations,
  minReclaim: boolean = false,
): readonly Threshold[] {
  return thresholds.filter((threshold) => {
    const observed = observations.get(threshold.signal);
    if (!observed) return false;
    return requiredAmount(threshold, observed.capacity, minReclaim) > observed.available;
  });
}
