// pure
import type { Taint, Toleration } from "../generated/types.ts";

/** Whether a toleration covers a taint (core/v1 ToleratesTaint). Operators of comparison cover nothing. */
export function tolerates(
  { key = "", operator = "Equal", value = "", effect = "" }: Toleration,
  taint: Taint,
): boolean {
  if (effect !== "" && effect !== taint.effect) return false;
  if (key !== "" && key !== taint.key) return false;
  if (operator === "Exists") return true;
  return (operator === "Equal" || operator === "") && value === (taint.value ?? "");
}
