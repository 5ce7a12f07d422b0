import type { PodUid, UnobservedPod } from "../../api/observation.ts";
import { podDisplayName } from "../../api/pod/pod.ts";
import { type BackoffPolicy, retryAt } from "../../kit/backoff.ts";
import type { Clock, MonotonicMs } from "../../kit/clock.ts";
import { withoutFigures } from "../../kit/errors.ts";
import { smallest } from "../../kit/limits/lists.ts";
import type { Log } from "../../kit/log.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";

/** Pauses before a pod that could not be observed is observed again. */
const RETRY: BackoffPolicy = { initialMs: 1_000, maxMs: 30_000 };
/** From so many failures in a row on a pod counts as degraded; one alone mostly passes by itself. */
const DEGRADED_AFTER = 2;

interface DegradedDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: MetricsRegistry;
}

/** A failed observation and its cause. */
export type FailedObservation = Omit<UnobservedPod, "kind" | "problem"> & {
  readonly problem: string;
};

interface Failing {
  readonly name: string;
  readonly failures: number;
  readonly retryAt: MonotonicMs;
  /** The problem as last logged; `undefined` while the pod does not count as degraded. */
  readonly recorded: string | undefined;
}

/**
 * Pods that cannot be observed: how often in a row, since what, and when each is to be tried again. Said in
 * the log once for each cause, then counted.
 */
export class DegradedPods {
  readonly #deps: DegradedDeps;
  readonly #failing = new Map<PodUid, Failing>();
  readonly #failures: ReturnType<MetricsRegistry["counter"]>;

  constructor(deps: DegradedDeps) {
    this.#deps = deps;
    this.#failures = deps.metrics.counter({
      name: "nodelet_pod_observation_failures_total",
      help: "Failed observations of pods: the runtime could not report the status of a sandbox or container.",
    });
    deps.metrics.collected(
      {
        name: "nodelet_degraded_pods",
        help: "Pods whose state the runtime cannot report: nothing is started, stopped or removed for them.",
        type: "gauge",
      },
      () => [{ value: this.count }],
    );
  }

  /** Pods that count as degraded. */
  get count(): number {
    return [...this.#failing.values()].filter(({ recorded }) => recorded !== undefined).length;
  }

  /** Whether the pod failed last time and its next try is not due yet. */
  isPausing(uid: PodUid): boolean {
    const failing = this.#failing.get(uid);
    return failing !== undefined && failing.retryAt > this.#deps.clock.monotonic();
  }

  /** Pods whose next try is due. */
  due(): readonly PodUid[] {
    const now = this.#deps.clock.monotonic();
    return [...this.#failing].flatMap(([uid, failing]) => (failing.retryAt <= now ? [uid] : []));
  }

  /** Until the next try of any; `Infinity` when none fails. */
  untilDueMs(): number {
    const next = smallest([...this.#failing.values()].map((failing) => failing.retryAt));
    return Math.max(0, next - this.#deps.clock.monotonic());
  }

  /** Puts the next try off by the least pause. */
  postpone(uid: PodUid): void {
    const failing = this.#failing.get(uid);
    if (failing)
      this.#failing.set(uid, {
        ...failing,
        retryAt: retryAt(this.#deps.clock.monotonic(), 1, RETRY),
      });
  }

  /** Records a failure; returns what to publish of the pod. */
  failed({ problem, ...found }: FailedObservation): UnobservedPod {
    const { clock, log } = this.#deps;
    const { uid } = found;
    const before = this.#failing.get(uid);
    const failures = (before?.failures ?? 0) + 1;
    const isDegraded = failures >= DEGRADED_AFTER;
    const cause = isDegraded ? withoutFigures(problem) : undefined;
    const name = before?.name ?? podDisplayName(found.describe());
    this.#failures.add();
    if (cause !== undefined && cause !== before?.recorded)
      log.warn("a pod cannot be observed; nothing is done for it until it can", {
        pod: name,
        uid,
        error: problem,
        failures,
      });
    const next = retryAt(clock.monotonic(), failures, RETRY);
    this.#failing.set(uid, { name, failures, retryAt: next, recorded: cause });
    return { kind: "unobserved", ...found, problem: isDegraded ? problem : undefined };
  }

  /** The pod was observed. */
  observed(uid: PodUid): void {
    const failing = this.#failing.get(uid);
    this.#failing.delete(uid);
    if (failing?.recorded === undefined) return;
    const { name: pod, failures } = failing;
    this.#deps.log.info("the pod can be observed again", { pod, uid, failures });
  }

  /** The runtime has nothing of the pod any more. */
  gone(uid: PodUid): void {
    this.#failing.delete(uid);
  }
}
