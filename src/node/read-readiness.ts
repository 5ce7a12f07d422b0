import type { Reading } from "../kit/cell.ts";
import type { Clock } from "../kit/clock.ts";
import type { HealthProblem } from "../kit/health/health.ts";
import type { Runtime } from "../subsystems/runtime/runtime.ts";
import type { ReadinessFacts } from "./readiness.ts";

/** Sources of the node's readiness. */
export interface ReadinessDeps {
  readonly clock: Pick<Clock, "monotonic">;
  readonly watch: Pick<Runtime["watch"], "health" | "lastReady" | "lastAnswer" | "lastListing">;
  /** Problems with the agent itself. */
  readonly health: Reading<readonly HealthProblem[]>;
  /** Whether the machine is going down. */
  readonly shuttingDown: Reading<boolean>;
}

/** What the node's readiness follows from at this moment. */
export function readReadiness({
  clock,
  watch,
  health,
  shuttingDown,
}: ReadinessDeps): ReadinessFacts {
  return {
    now: clock.monotonic(),
    runtime: watch.health.get(),
    lastReady: watch.lastReady,
    lastAnswer: watch.lastAnswer,
    listedAt: watch.lastListing.get(),
    health: health.get(),
    shuttingDown: shuttingDown.get(),
  };
}
