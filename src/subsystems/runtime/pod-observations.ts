import type { FoundPod, ObservedPod, PodUid } from "../../api/observation.ts";
import type { Clock } from "../../kit/clock.ts";
import { isOutside } from "../../kit/errors.ts";
import { inParallel } from "../../kit/in-parallel.ts";
import type { Log } from "../../kit/log.ts";
import { NEVER_ABORTED, withTimeout } from "../../kit/within.ts";
import type { DegradedPods } from "./degraded-pods.ts";
import type { WatchMeasures } from "./instrument.ts";
import type { ChangedPod, Observer, PodObservation } from "./observe.ts";

/** Pods that are observed at once in a listing, and beside it because of events. */
const OBSERVATIONS_AT_ONCE = 8;
/** An observation that takes longer goes on without being waited for, so that those behind it have their turn. */
const WAIT_MS = 1_000;
/** Observations that go on without being waited for; when there are more, the others wait for their turn. */
const MAX_LATE = 64;
/** Failed pods that are tried again at once. */
const MAX_RETRIES = 8;

interface PodObservationsDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly observer: Observer;
  readonly degraded: DegradedPods;
  readonly measures: Pick<WatchMeasures, "observing">;
  /** Called for pods whose observation was not waited for. */
  readonly onLate: PodHandler;
  /** Something changed on the pod while it was observed. */
  readonly onChangedMeanwhile: (uid: PodUid) => void;
  /** The runtime failed to list a pod whose observation was not waited for. */
  readonly onUnlisted: () => void;
  /** An observation that `begin` has begun is over or late: another may begin. */
  readonly onMayBegin: () => void;
}

/** Called with the outcome of each pod. */
export type PodHandler = (found: FoundPod) => void;

/** One observation of a pod. */
interface Job {
  readonly uid: PodUid;
  /** May throw when the runtime cannot list. */
  readonly observe: (signal: AbortSignal) => Promise<PodObservation>;
  /** Reported when the observation is not waited for; absent if nothing is to be reported. */
  readonly late?: FoundPod;
}

/** An observation that is under way; dropped when the pod vanished meanwhile. */
interface Run {
  dropped: boolean;
}

/**
 * Observes pods, each alone: one whose observation fails or is slow delays no other. Of each pod one observation is
 * under way at a time; one that failed is tried again after a pause.
 */
export class PodObservations {
  readonly #deps: PodObservationsDeps;
  readonly #running = new Map<PodUid, Run>();
  readonly #changedMeanwhile = new Set<PodUid>();
  readonly #begun = new Set<Promise<void>>();
  readonly #late = new Set<Promise<void>>();
  #retries = 0;

  constructor(deps: PodObservationsDeps) {
    this.#deps = deps;
  }

  /** Lists everything and reports what changed, each pod as soon as it was read. Throws when it cannot list. */
  async all(report: PodHandler, signal: AbortSignal): Promise<void> {
    const { observer, degraded } = this.#deps;
    const { changed, vanished } = await observer.listAll(signal);
    for (const pod of vanished) this.#vanished(pod, report);
    const ready = changed.filter(({ uid }) => !degraded.isPausing(uid));
    await this.#run(ready.map(jobOf), report, signal);
  }

  /** Whether `begin` may begin another observation. */
  get mayBegin(): boolean {
    return this.#begun.size < OBSERVATIONS_AT_ONCE;
  }

  /** Begins to observe a pod beside others, and reports it as soon as it was read. */
  begin(uid: PodUid, report: PodHandler, signal: AbortSignal): void {
    if (this.#deps.degraded.isPausing(uid)) return;
    const turn = this.#inItsTurn(this.#jobFor(uid), report, signal)
      .catch((error: unknown) => this.#unlisted(uid, error, signal))
      .finally(() => {
        this.#begun.delete(turn);
        this.#deps.onMayBegin();
      });
    this.#begun.add(turn);
  }

  /** Observes one pod for the caller. Throws when the runtime cannot list. */
  async one(uid: PodUid, signal: AbortSignal): Promise<FoundPod> {
    const run: Run = { dropped: false };
    this.#running.set(uid, run);
    try {
      return this.#judged(await this.#observe(uid, signal));
    } finally {
      this.#over(uid, run);
    }
  }

  /** Whether the pod is being observed: one that comes beside it would ask for the same once more. */
  isUnderWay(uid: PodUid): boolean {
    return this.#running.has(uid);
  }

  /** Tries pods again whose pause is over, without being waited for; those in `isBusy` are observed anyway. */
  retryDue(isBusy: (uid: PodUid) => boolean, signal: AbortSignal): void {
    for (const uid of this.#deps.degraded.due()) {
      if (isBusy(uid) || this.#running.has(uid) || this.#retries >= MAX_RETRIES) {
        this.#deps.degraded.postpone(uid);
        continue;
      }
      this.#retries += 1;
      const retry = this.#carryOut(this.#jobFor(uid), this.#deps.onLate, signal)
        .catch((error: unknown) => this.#unlisted(uid, error, signal))
        .finally(() => {
          this.#retries -= 1;
        });
      this.#leaveBehind(retry);
    }
  }

  /** Resolves when no observation is under way any more; called once the signal of all of them was aborted. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#begun);
    await Promise.allSettled(this.#late);
  }

  #jobFor(uid: PodUid): Job {
    return { uid, observe: (signal) => this.#observe(uid, signal) };
  }

  async #observe(uid: PodUid, signal: AbortSignal) {
    const { observer, measures } = this.#deps;
    const ended = measures.observing();
    try {
      return await observer.observePod(uid, signal);
    } finally {
      ended();
    }
  }

  async #run(jobs: readonly Job[], report: PodHandler, signal: AbortSignal): Promise<void> {
    const outcomes = await inParallel(jobs, OBSERVATIONS_AT_ONCE, (job) =>
      this.#inItsTurn(job, report, signal),
    );
    for (const outcome of outcomes) if (outcome.kind === "failed") throw outcome.error;
  }

  /** Resolves when the observation has ended or is not waited for any more. */
  async #inItsTurn(job: Job, report: PodHandler, signal: AbortSignal): Promise<void> {
    if (this.#running.has(job.uid)) {
      this.#changedMeanwhile.add(job.uid);
      return;
    }
    let isLate = false;
    const run = this.#carryOut(
      job,
      (found) => (isLate ? this.#deps.onLate : report)(found),
      signal,
    );
    const timeout = { clock: this.#deps.clock, ms: WAIT_MS };
    const { kind } = await withTimeout(timeout, NEVER_ABORTED, () => run);
    if (kind === "done" || this.#late.size >= MAX_LATE) return run;
    if (job.late) this.#report(job.late, report);
    isLate = true;
    this.#leaveBehind(run.catch((error: unknown) => this.#unlisted(job.uid, error, signal)));
  }

  /** An observation without a caller failed: a listing of all pods shows whether the runtime is the reason. */
  #unlisted(uid: PodUid, error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return;
    if (isOutside(error)) this.#deps.log.verbose(2, "failed to observe a pod", { uid, error });
    else this.#deps.log.error("failed to observe a pod", { uid, error });
    this.#deps.onUnlisted();
  }

  #leaveBehind(work: Promise<void>): void {
    this.#late.add(work);
    void work.finally(() => this.#late.delete(work));
  }

  async #carryOut(job: Job, report: PodHandler, signal: AbortSignal): Promise<void> {
    const run: Run = { dropped: false };
    this.#running.set(job.uid, run);
    try {
      const observation = await job.observe(signal);
      if (!run.dropped && observation.kind !== "outdated")
        this.#report(this.#judged(observation), report);
    } finally {
      this.#over(job.uid, run);
    }
  }

  #over(uid: PodUid, run: Run): void {
    if (this.#running.get(uid) === run) this.#running.delete(uid);
    if (this.#changedMeanwhile.delete(uid)) this.#deps.onChangedMeanwhile(uid);
  }

  /** The report of a finished observation. */
  #judged(observation: Exclude<PodObservation, { readonly kind: "outdated" }>): FoundPod {
    const { degraded } = this.#deps;
    if (observation.kind === "failed") {
      const { kind: _, ...failed } = observation;
      return degraded.failed(failed);
    }
    degraded.observed(observation.uid);
    return observation;
  }

  #vanished(pod: ObservedPod, report: PodHandler): void {
    const run = this.#running.get(pod.uid);
    if (run) run.dropped = true;
    this.#deps.degraded.gone(pod.uid);
    this.#report(pod, report);
  }

  /** A handler that throws for one pod does not affect others. */
  #report(found: FoundPod, report: PodHandler): void {
    try {
      report(found);
    } catch (error) {
      this.#deps.log.error("failed to process the observation of a pod", {
        uid: found.uid,
        error,
      });
    }
  }
}

function jobOf({ uid, asOf, describe, isNew, observe }: ChangedPod): Job {
  const late = { kind: "unobserved", uid, asOf, describe, problem: undefined } as const;
  return isNew ? { uid, observe, late } : { uid, observe };
}
