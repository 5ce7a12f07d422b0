import { Cell, type Reading } from "../cell.ts";
import type { Clock, MonotonicMs } from "../clock.ts";
import { InvariantError, messageOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { MetricsRegistry, Sample } from "../metrics.ts";
import { type CheckState, INITIAL_STATE, nextState } from "./judge-health.ts";

/** Measurement of a check. */
export interface HealthMeasure {
  /** The lag or age it is about; undefined as long as there is none. */
  readonly lagMs: number | undefined;
  /** The problem, in a text that stays the same while it lasts (no ages, no counts); undefined when healthy. */
  readonly problem: string | undefined;
}

/** One thing of the agent that can be well or not. */
export interface HealthCheck {
  /** As in `/healthz/<name>`: lower case words with hyphens. */
  readonly name: string;
  /**
   * `unhealthy` makes `/healthz` fail: a restart of the agent may cure it. `warning` is shown beside it,
   * in metrics and in the node's Ready condition.
   */
  readonly severity: "unhealthy" | "warning";
  /** How long it may fail before the node is not Ready; absent: it stays Ready. */
  readonly notReadyAfterMs?: number;
  /** Measures now; must answer at once. */
  readonly measure: () => HealthMeasure;
}

/** A check that fails. */
export interface HealthProblem {
  readonly name: string;
  readonly severity: HealthCheck["severity"];
  readonly problem: string;
  /** Monotonic milliseconds from which on the node is not Ready because of it. */
  readonly notReadyAt: number | undefined;
}

/** A check as it is shown. */
interface HealthReport {
  readonly name: string;
  readonly severity: HealthCheck["severity"];
  readonly problem: string | undefined;
}

interface HealthDeps {
  readonly clock: Pick<Clock, "monotonic">;
  readonly log: Log;
  readonly metrics: MetricsRegistry;
}

interface Entry {
  readonly check: HealthCheck;
  state: CheckState;
}

/**
 * Whether the agent itself is well, check by check. Owns: the result of each check. In: measurements.
 * Out: the problems there are, metrics, and a line in the log when one begins and ends.
 */
export class HealthRegistry {
  readonly #deps: HealthDeps;
  readonly #entries = new Map<string, Entry>();
  readonly #problems = new Cell<readonly HealthProblem[]>([]);

  constructor(deps: HealthDeps) {
    this.#deps = deps;
    deps.metrics.collected(
      {
        name: "nodelet_health_lag_seconds",
        help: "Lag or age measured by each health check of the agent.",
        type: "gauge",
      },
      () => this.#lags(),
    );
    deps.metrics.collected(
      {
        name: "nodelet_health_check_failing",
        help: "Whether each health check of the agent fails (1) or passes (0).",
        type: "gauge",
      },
      () =>
        [...this.#entries].map(([check, { state }]) => ({
          labels: { check },
          value: state.kind === "failing" ? 1 : 0,
        })),
    );
  }

  /** Adds a check; its name must be new. */
  add(...checks: readonly HealthCheck[]): void {
    for (const check of checks) {
      if (this.#entries.has(check.name))
        throw new InvariantError(`health check ${check.name} is registered twice`);
      this.#entries.set(check.name, { check, state: INITIAL_STATE });
    }
  }

  /** Failing checks in the order of registration; changes only when a state changes. */
  get problems(): Reading<readonly HealthProblem[]> {
    return this.#problems;
  }

  /** All checks, in the order of registration. */
  list(): readonly HealthReport[] {
    return [...this.#entries.values()].map(({ check: { name, severity }, state }) => ({
      name,
      severity,
      problem: state.kind === "failing" ? state.problem : undefined,
    }));
  }

  /** Measures all checks once; to be called again and again. */
  sample(): void {
    const now = this.#deps.clock.monotonic();
    for (const entry of this.#entries.values()) {
      const before = entry.state;
      entry.state = nextState(before, measure(entry.check).problem, now);
      this.#report(entry.check.name, before, entry.state, now);
    }
    const problems = [...this.#entries.values()].flatMap(({ check, state }) =>
      state.kind === "failing" ? [problemOf(check, state)] : [],
    );
    if (!isSameList(problems, this.#problems.get())) this.#problems.set(problems);
  }

  #report(check: string, before: CheckState, now: CheckState, at: MonotonicMs): void {
    if (before.kind === now.kind) return;
    const { log } = this.#deps;
    if (now.kind === "failing") log.warn("health check fails", { check, error: now.problem });
    else if (before.kind === "failing") {
      const failedSeconds = Math.round((at - before.since) / 1000);
      log.info("health check recovered", { check, error: before.problem, failedSeconds });
    }
  }

  *#lags(): Iterable<Sample> {
    for (const [name, { check }] of this.#entries) {
      const { lagMs } = measure(check);
      if (lagMs !== undefined) yield { labels: { check: name }, value: lagMs / 1000 };
    }
  }
}

/** A check of the time since something went well last. */
interface AgeCheckOptions {
  readonly name: string;
  readonly severity: HealthCheck["severity"];
  readonly notReadyAfterMs?: number;
  readonly clock: Pick<Clock, "monotonic">;
  /** Ages beyond it are a problem. */
  readonly limitMs: number;
  /** When it last went well; undefined as long as it need not have. */
  readonly since: () => MonotonicMs | undefined;
  /** The overdue action, as in "the lease has not been renewed". */
  readonly missing: string;
}

/** A check that fails when what should happen again and again has not happened for too long. */
export function ageCheck(options: AgeCheckOptions): HealthCheck {
  const { name, severity, notReadyAfterMs, clock, limitMs, since, missing } = options;
  const problem = `${missing} for more than ${Math.round(limitMs / 1000)}s`;
  return {
    name,
    severity,
    ...(notReadyAfterMs === undefined ? {} : { notReadyAfterMs }),
    measure: () => {
      const at = since();
      const lagMs = at === undefined ? undefined : clock.monotonic() - at;
      return { lagMs, problem: (lagMs ?? 0) > limitMs ? problem : undefined };
    },
  };
}

/** One check that throws is a problem of its own and of no other. */
function measure(check: HealthCheck): HealthMeasure {
  try {
    return check.measure();
  } catch (error) {
    return { lagMs: undefined, problem: `it cannot be measured: ${messageOf(error)}` };
  }
}

function problemOf(
  { name, severity, notReadyAfterMs }: HealthCheck,
  { problem, since }: Extract<CheckState, { kind: "failing" }>,
): HealthProblem {
  const notReadyAt = notReadyAfterMs === undefined ? undefined : since + notReadyAfterMs;
  return { name, severity, problem, notReadyAt };
}

function isSameList(a: readonly HealthProblem[], b: readonly HealthProblem[]): boolean {
  return (
    a.length === b.length &&
    a.every(({ name, problem }, i) => b[i]?.name === name && b[i].problem === problem)
  );
}
