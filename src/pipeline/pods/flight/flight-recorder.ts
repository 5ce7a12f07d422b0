import { isSame } from "../../../api/decode/strategic-diff.ts";
import type { PodUid } from "../../../api/observation.ts";
import type { Clock, MonotonicMs, WallMs } from "../../../kit/clock.ts";
import type { PodPlan } from "../plan/actions.ts";
import type { PlanContext } from "../plan/plan-draft.ts";
import type { PodRecord } from "../record/record.ts";
import type { PodSignal } from "../record/signals.ts";
import { decidedState, type KeptStep } from "./flight.ts";

/** Steps that are kept, of all pods together. */
const MAX_STEPS = 5_000;
/** Older steps are dropped. */
const WINDOW_MS = 10 * 60_000;
/** How often that is done while no step is added. */
const FORGET_EVERY_MS = WINDOW_MS / 2;

/**
 * Keeps the last steps of all pods: what came in, and what was decided. Costs a reference for each value, since
 * records, signals and plans are never changed. Steps that change nothing are left out: of a pod at rest nothing
 * is kept, however often it is observed and planned.
 */
export class FlightRecorder {
  readonly #clock: Clock;
  /** Oldest first; those before `#first` were dropped. */
  #steps: (KeptStep | undefined)[] = [];
  #first = 0;
  #dropped = 0;
  /** Pods whose last step was a plan to do nothing: another one like it says no more. */
  readonly #atRest = new Set<PodUid>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Steps that are not kept any more. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Keeps that `signal` made `after` of `before`. */
  signal(step: {
    readonly before: PodRecord;
    readonly signal: PodSignal;
    readonly now: MonotonicMs;
    readonly after: PodRecord;
  }): void {
    const { before, signal, after } = step;
    if (after === before || (signal.kind === "observed" && isSameState(before, after))) return;
    this.#atRest.delete(before.uid);
    this.#keep({ kind: "signal", uid: before.uid, atMs: this.#clock.wall(), ...step });
  }

  /** Keeps what was planned for the record. */
  plan(before: PodRecord, context: PlanContext, plan: PodPlan): void {
    const isRest = isNothing(plan, before);
    if (isRest && this.#atRest.has(before.uid)) return;
    // After its release no other signal would take the pod out again.
    if (isRest && before.life.kind !== "released") this.#atRest.add(before.uid);
    else this.#atRest.delete(before.uid);
    const atMs = this.#clock.wall();
    this.#keep({ kind: "plan", uid: before.uid, atMs, before, context, plan });
  }

  /** The steps that are kept, oldest first. */
  steps(): readonly KeptStep[] {
    this.#drop(this.#clock.wall());
    return this.#steps.slice(this.#first) as KeptStep[];
  }

  /** Drops steps that have become too old while no other is added. Rejects with the signal's reason once it is aborted. */
  async forgetOld(signal: AbortSignal): Promise<never> {
    for (;;) {
      await this.#clock.coalesced.sleep(FORGET_EVERY_MS, signal);
      this.#drop(this.#clock.wall());
    }
  }

  #keep(step: KeptStep): void {
    this.#steps.push(step);
    this.#drop(step.atMs);
  }

  /** Drops steps that are too old or too many, with all that they refer to; the list is copied once in a while only. */
  #drop(now: WallMs): void {
    const isOld = (step: KeptStep | undefined) =>
      step !== undefined && (now - step.atMs > WINDOW_MS || this.#length > MAX_STEPS);
    while (isOld(this.#steps[this.#first])) {
      this.#steps[this.#first] = undefined;
      this.#first += 1;
      this.#dropped += 1;
    }
    if (this.#first < MAX_STEPS) return;
    this.#steps = this.#steps.slice(this.#first);
    this.#first = 0;
  }

  get #length(): number {
    return this.#steps.length - this.#first;
  }
}

/** Whether an observation has shown nothing new: it only is more recent. */
function isSameState(before: PodRecord, after: PodRecord): boolean {
  const [earlier, later] = [before.observed, after.observed];
  return (
    isSame(earlier.sandboxes, later.sandboxes) &&
    isSame(earlier.containers, later.containers) &&
    isSame(decidedState(before), decidedState(after))
  );
}

/** Whether a plan leaves all as it is. */
function isNothing({ actions, ends, waits, standing }: PodPlan, { lastPlan }: PodRecord): boolean {
  return (
    actions.length === 0 &&
    !ends &&
    lastPlan.earlierWaits === undefined &&
    isSame(waits, lastPlan.waits) &&
    isSame(standing, lastPlan.standing)
  );
}
