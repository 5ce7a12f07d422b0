// pure
import type { MonotonicMs } from "../clock.ts";

/** State of a check over several measurements. */
export type CheckState =
  /** `failures`: measurements in a row that found a problem, too few to count yet. */
  | { readonly kind: "passing"; readonly failures: number }
  /** `passes`: measurements in a row that found none, too few to believe yet. */
  | {
      readonly kind: "failing";
      readonly problem: string;
      readonly since: MonotonicMs;
      readonly passes: number;
    };

/** A check that was never measured passes. */
export const INITIAL_STATE: CheckState = { kind: "passing", failures: 0 };

/**
 * Measurements in a row that must agree before a check fails, and before it passes again. One alone may be
 * a process that was stopped for a moment; and what goes to and fro must not do so in the node's status.
 */
const FAIL_AFTER = 2;
const PASS_AFTER = 3;

/** The state after one more measurement, which found `problem` or none. */
export function nextState(
  state: CheckState,
  problem: string | undefined,
  now: MonotonicMs,
): CheckState {
  switch (state.kind) {
    case "passing": {
      if (problem === undefined) return INITIAL_STATE;
      const failures = state.failures + 1;
      if (failures < FAIL_AFTER) return { kind: "passing", failures };
      return { kind: "failing", problem, since: now, passes: 0 };
    }
    case "failing": {
      if (problem !== undefined) return { ...state, problem, passes: 0 };
      const passes = state.passes + 1;
      return passes < PASS_AFTER ? { ...state, passes } : INITIAL_STATE;
    }
    default:
      return state satisfies never;
  }
}
