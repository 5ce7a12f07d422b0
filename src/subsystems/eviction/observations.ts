// pure

import { type EvictionSignal, isEvictionSignal } from "../../api/node/eviction-signals.ts";
import {
  canonicalQuantity,
  quantityFromBytes,
  quantityFromCount,
} from "../../api/text/quantity.ts";
import type { WallMs } from "../../kit/clock.ts";
import type { NodeMeasures } from "./measures.ts";
import { SIGNAL_FACTS, type SignalAmounts } from "./signals.ts";

/** What was observed of a signal. */
export interface SignalObservation extends SignalAmounts {
  /** When it was measured. */
  readonly atMs: WallMs;
}

/** Observation of each signal; signals that could not be measured are missing. */
export type SignalObservations = ReadonlyMap<EvictionSignal, SignalObservation>;

/** The signals of a measured machine (helpers.go makeSignalObservations). */
export function observationsOf(measures: NodeMeasures): SignalObservations {
  const { atMs } = measures;
  return new Map(
    Object.keys(SIGNAL_FACTS)
      .filter(isEvictionSignal)
      .flatMap((signal) => {
        const amounts = SIGNAL_FACTS[signal].observe(measures);
        return amounts ? [[signal, { ...amounts, atMs }] as const] : [];
      }),
  );
}

/** An observed amount as the Go kubelet writes it: bytes with binary suffixes, counts with decimal ones. */
export function amountText(signal: EvictionSignal, amount: number): string {
  const { resource } = SIGNAL_FACTS[signal];
  const isBytes = resource === "memory" || resource === "ephemeral-storage";
  return canonicalQuantity(isBytes ? quantityFromBytes(amount) : quantityFromCount(amount));
}
