import type { HealthCheck, HealthMeasure } from "../../kit/health/health.ts";
import type { LoopDelay } from "../../outside/serving.ts";

interface EventLoopDeps {
  /** How long its turns took lately; absent where they are not timed (a simulation). */
  readonly turns: (() => LoopDelay) | undefined;
}

/** A single turn, or a timer that is this late. */
const LIMIT_MS = 5_000;
/** One turn in a hundred. */
const USUAL_LIMIT_MS = 1_000;

/** Times the event loop: how late a timer is, and how long turns take. */
export class EventLoopWatch {
  readonly #deps: EventLoopDeps;
  #lateMs = 0;

  constructor(deps: EventLoopDeps) {
    this.#deps = deps;
  }

  /** Takes how late the latest timer was. */
  woken(lateMs: number): void {
    this.#lateMs = Math.max(0, lateMs);
  }

  /** Fails while the agent answers slowly; it still manages pods, so the node stays Ready. */
  get check(): HealthCheck {
    return { name: "event-loop", severity: "warning", measure: () => this.#measure() };
  }

  #measure(): HealthMeasure {
    const { p99Seconds = 0, maxSeconds = 0 } = this.#deps.turns?.() ?? {};
    const lagMs = Math.max(this.#lateMs, maxSeconds * 1000);
    if (lagMs > LIMIT_MS)
      return { lagMs, problem: `the event loop was blocked for more than ${LIMIT_MS / 1000}s` };
    const slow = p99Seconds * 1000 > USUAL_LIMIT_MS;
    return {
      lagMs,
      problem: slow ? "one in a hundred turns of the event loop takes more than 1s" : undefined,
    };
  }
}
