// pure
import type { PodUid } from "../../../api/observation.ts";
import type { MonotonicMs, WallMs } from "../../../kit/clock.ts";
import type { PodPlan } from "../plan/actions.ts";
import type { PlanContext } from "../plan/plan-draft.ts";
import type { PodRecord } from "../record/record.ts";
import type { PodSignal } from "../record/signals.ts";

/** Version of the format of recordings. */
export const FLIGHT_FORMAT = 1;

/** The first line of a recording. */
export interface FlightHeader {
  readonly kind: "header";
  readonly format: number;
  readonly node: string;
  readonly version: string;
  /** When it was written. */
  readonly atMs: number;
  /** Steps that were too old or too many to be kept. */
  readonly dropped: number;
}

/** One step of one pod, in the order in which they happened on the node. */
export type FlightStep =
  /** The pod's record at the start of the recording. */
  | {
      readonly kind: "begin";
      readonly uid: PodUid;
      readonly atMs: number;
      readonly record: PodRecord;
    }
  /** A signal came in and was taken into the record. */
  | {
      readonly kind: "signal";
      readonly uid: PodUid;
      readonly atMs: number;
      readonly now: MonotonicMs;
      readonly signal: PodSignal;
      readonly after: DecidedState;
    }
  /** The pod was planned. */
  | {
      readonly kind: "plan";
      readonly uid: PodUid;
      readonly atMs: number;
      readonly context: PlanContext;
      readonly plan: PodPlan;
    };

/** Context for readers beside the steps: decisions of the whole node, events and statuses. */
export interface FlightNote {
  readonly kind: "decision" | "event" | "status";
  readonly of: unknown;
}

/** A recording, read back. */
export interface Flight {
  readonly header: FlightHeader;
  readonly steps: readonly FlightStep[];
  readonly notes: readonly FlightNote[];
}

/** Fields that a transition decides; the others are inputs. */
type DecidedState = Omit<PodRecord, "pod" | "desired" | "observed" | "uid" | "startedAt">;

/** The part of a record that a transition decides. */
export function decidedState(record: PodRecord): DecidedState {
  const { pod: _pod, desired: _desired, observed: _observed, uid: _uid, ...rest } = record;
  const { startedAt: _startedAt, ...decided } = rest;
  return decided;
}

/** A step as it is kept in memory: references to values that never change. */
export type KeptStep = {
  readonly uid: PodUid;
  readonly atMs: WallMs;
  readonly before: PodRecord;
} & (
  | {
      readonly kind: "signal";
      readonly now: MonotonicMs;
      readonly signal: PodSignal;
      readonly after: PodRecord;
    }
  | { readonly kind: "plan"; readonly context: PlanContext; readonly plan: PodPlan }
);

/** How a recording begins for the pod of a step, if that is its first one. */
export function beginOf({ uid, atMs, before }: KeptStep): FlightStep {
  return { kind: "begin", uid, atMs, record: before };
}

/** A step as a recording has it. */
function flightStep(step: KeptStep): FlightStep {
  const { uid, atMs } = step;
  if (step.kind === "plan") {
    const { context, plan } = step;
    return { kind: "plan", uid, atMs, context, plan };
  }
  const { now, signal, after } = step;
  return { kind: "signal", uid, atMs, now, signal, after: decidedState(after) };
}

/** A step with its text. */
export interface EncodedStep {
  readonly step: KeptStep;
  readonly line: string;
}

/**
 * The newest steps that have a place in so many characters, newest first; the beginning of each pod counts as its
 * newest step has it.
 */
export function* newestWithin(
  kept: readonly KeptStep[],
  maxLength: number,
  encode: (step: FlightStep) => string,
): Generator<EncodedStep> {
  const begun = new Set<PodUid>();
  let left = maxLength;
  for (const step of kept.toReversed()) {
    const line = encode(flightStep(step));
    left -= line.length + (begun.has(step.uid) ? 0 : encode(beginOf(step)).length);
    if (left < 0) return;
    begun.add(step.uid);
    yield { step, line };
  }
}

/** The lines of a recording; each pod begins with its record before its first step. */
export function* flightLines(
  encoded: readonly EncodedStep[],
  encode: (step: FlightStep) => string,
): Generator<string> {
  const begun = new Set<PodUid>();
  for (const { step, line } of encoded) {
    if (!begun.has(step.uid)) yield encode(beginOf(step));
    begun.add(step.uid);
    yield line;
  }
}
