// pure
import { wholeOf } from "../text/quantity.ts";

/** A threshold is a quantity or a percentage of the capacity. */
export function thresholdBytes(text: string | undefined, capacityBytes: number): number {
  if (text === undefined) return 0;
  if (text.endsWith("%")) return Math.floor((capacityBytes * Number.parseFloat(text)) / 100);
  return wholeOf(text);
}
