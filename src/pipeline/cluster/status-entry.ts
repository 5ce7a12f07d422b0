// pure
import type { PodStatus } from "../../api/generated/types.ts";
import type { PodUid } from "../../api/observation.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { MonotonicMs } from "../../kit/clock.ts";
import { URGENCY, urgencyOf } from "./merge-status.ts";

/** Pending status of one pod for the API. */
export interface StatusEntry {
  readonly uid: PodUid;
  pod: IdentifiedPod;
  status: PodStatus;
  /** Nothing of it runs or is held any more. */
  finished: boolean;
  /** The API was asked to let it go; what finalizers keep is not asked for again. */
  released: boolean;
  /** Something is to be written. */
  dirty: boolean;
  busy: boolean;
  /** Order of becoming dirty. */
  since: number;
  failures: number;
  notBefore: MonotonicMs;
  /** Until when it waits for more to be written (`joinMsOf`), unless it is urgent. */
  joinUntil: MonotonicMs;
  /** When the status that is not yet written came. */
  changedAt: MonotonicMs;
  /** Why the last request came to nothing, until one succeeds. */
  problem?: string;
  /** Our status as it was last brought there, and what the API made of it. */
  written?: { readonly target: string; readonly sent: PodStatus; readonly kept: PodStatus };
  /** The API's status of the pod, as long as nothing was written: an agent before this one may have written it. */
  published?: PodStatus | undefined;
  /** Urgency of the status that is to be written, and what it was judged by. */
  judged?: JudgedUrgency;
  /** Inputs of the last full pass that had nothing to do: while they are the same, there is nothing to do. */
  settled?: Compared;
}

/** How urgent it is to write `status` over `known`. */
interface JudgedUrgency {
  readonly status: PodStatus;
  readonly known: PodStatus | undefined;
  readonly urgency: number;
}

/**
 * A status in which neither the phase has become final nor readiness has changed is written only after this time: changes
 * that follow within it are written by the same request.
 */
const JOIN_MS = 250;
/** The same for the first status of a pod: it says that the node has taken the pod on, and most pods run before long. */
const FIRST_JOIN_MS = 1_000;

/** How long the entry waits for more to be written, from when it became dirty; not if it is urgent. */
export function joinMsOf(entry: StatusEntry): number {
  return isFirst(entry) ? FIRST_JOIN_MS : JOIN_MS;
}

/** Whether no status of the pod has been sent yet, by this agent or one before it. */
function isFirst({ written, busy, published }: StatusEntry): boolean {
  return !written && !busy && published?.startTime === undefined;
}

/** Judged once for each status: a writer with much to do asks again at every step. */
function urgencyOfEntry(entry: StatusEntry): number {
  const { status, judged } = entry;
  const known = entry.written ? entry.written.sent : entry.published;
  if (judged?.status === status && judged.known === known) return judged.urgency;
  const urgency = urgencyOf(known, status);
  entry.judged = { status, known, urgency };
  return urgency;
}

/** When the entry may be written. */
export function dueAt(entry: StatusEntry): MonotonicMs {
  const { notBefore, joinUntil, finished } = entry;
  if (joinUntil <= notBefore || finished) return notBefore;
  return urgencyOfEntry(entry) === URGENCY.other ? joinUntil : notBefore;
}

/** Whether `a` is to be written before `b`: of two that are as urgent the one that has waited longer. */
export function isMoreUrgent(a: StatusEntry, b: StatusEntry): boolean {
  const urgency = urgencyOfEntry(a);
  const other = urgencyOfEntry(b);
  return urgency !== other ? urgency < other : a.since < b.since;
}

/** All that a full pass compares of one pod; objects are never changed, only replaced. */
export interface Compared {
  readonly target: IdentifiedPod | undefined;
  readonly status: PodStatus;
  readonly finished: boolean;
}

/** Whether what was compared is the same still; an object that differs is another one. */
export function isUnchanged(before: Compared | undefined, now: Compared): boolean {
  return (
    before?.target === now.target &&
    before?.status === now.status &&
    before.finished === now.finished
  );
}
