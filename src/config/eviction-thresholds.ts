// pure
import { type Quantity, readQuantity } from "../api/text/quantity.ts";
import { parseFloat32 } from "./flags/go-numbers.ts";

/** Percentages that switch a threshold off; spelled in another way they are thresholds: one never met, one always. */
export const DISABLED_SHARES: readonly string[] = ["0%", "100%"];

/** The amount behind a signal: a quantity, or a share of the capacity between 0 and 1. */
export type EvictionAmount =
  | { readonly kind: "quantity"; readonly quantity: Quantity }
  | { readonly kind: "share"; readonly share: number };

/** Result of `readEvictionAmount`. */
type EvictionAmountReading =
  | { readonly ok: true; readonly amount: EvictionAmount }
  | { readonly ok: false; readonly error: string };

/** Reads `100Mi` or `10%` as an amount; does not judge whether it makes sense as a threshold. */
export function readEvictionAmount(text: string): EvictionAmountReading {
  if (text.endsWith("%")) {
    const percent = parseFloat32(text.replace(/%+$/, ""));
    if (!percent.ok) return { ok: false, error: "invalid percentage" };
    return { ok: true, amount: { kind: "share", share: percent.value / 100 } };
  }
  const reading = readQuantity(text);
  if (reading.kind === "fault") return { ok: false, error: reading.message };
  return { ok: true, amount: { kind: "quantity", quantity: reading.quantity } };
}
