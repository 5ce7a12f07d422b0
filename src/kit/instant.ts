// pure
import type { MonotonicMs } from "./clock.ts";

/** `at` moved by `ms`. */
export function after(at: MonotonicMs, ms: number): MonotonicMs {
  return (at + ms) as MonotonicMs;
}
