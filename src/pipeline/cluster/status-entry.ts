// pure
import type { PodStatus } from "../../api/generated/types.ts";
import type { PodUid } from "../../api/observation.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { MonotonicMs } from "../../kit/clock.ts";
import { URGENCY, urgencyOf } from "./merge-status.ts";

/**
 * What is being done about the status of one pod:
 *
 *             something is to be written           due, and few requests are under way
 *     idle ------------------------------> waiting ------------------------------> writing
 *      ^                                      ^                                    |  |  ^
 *      |  the API has it                      |  more came, or is to follow        |  |  | due
 *      +--------------------------------------+------------------------------------+  |  |
 *                                                                    it failed        v  |
 *                                                                               backing off
 */
type WriteState =
  | { readonly kind: "idle" }
  | { readonly kind: "waiting"; readonly since: number }
  | {
      readonly kind: "writing";
      /** Order of what came after the request began, if anything did. */
      readonly again: number | undefined;
      /** The failure of the request before this one, then of this one, if it failed. */
      readonly failure: Failure | undefined;
    }
  | { readonly kind: "backing off"; readonly since: number; readonly failure: Failure };

/** Requests that came to nothing, one after the other. */
interface Failure {
  readonly count: number;
  /** Why the last one did. */
  readonly problem: string;
  readonly notBefore: MonotonicMs;
}

/** Pending status of one pod for the API. */
export interface StatusEntry {
  readonly uid: PodUid;
  pod: IdentifiedPod;
  latest: LatestStatus;
  state: WriteState;
  /** `finished`: nothing of it runs or is held any more; `released`: the API was asked to let it go, once. */
  life: "living" | "finished" | "released";
  /** What the API has of it, as far as known. */
  known: KnownStatus;
  /** Urgency of the status that is to be written, and what it was judged by. */
  judged?: JudgedUrgency;
  /** Inputs of the last full pass that had nothing to do: while they are the same, there is nothing to do. */
  settled?: Compared;
}

/** The status that is to be in the API. */
interface LatestStatus {
  readonly status: PodStatus;
  readonly changedAt: MonotonicMs;
  /** Until when it waits for more to be written (`joinMsOf`), unless it is urgent. */
  readonly joinUntil: MonotonicMs;
}

type KnownStatus =
  /** Our status as it was last brought there, and what the API made of it. */
  | {
      readonly kind: "written";
      readonly target: string;
      readonly sent: PodStatus;
      readonly kept: PodStatus;
    }
  /** Nothing was written yet: an agent before this one may have written it. */
  | { readonly kind: "published"; readonly status: PodStatus | undefined };

/** Whether something is to be written that is not being written already. */
export function isDirty({ state }: StatusEntry): boolean {
  if (state.kind === "writing") return state.again !== undefined;
  return state.kind !== "idle";
}

/** Whether it is to be written in its turn. */
export function isWaiting({ state }: StatusEntry): boolean {
  return state.kind === "waiting" || state.kind === "backing off";
}

/** The state once something is to be written; `since` is its place in the order of arrival. */
export function withMore(state: WriteState, since: number): WriteState {
  if (state.kind === "idle") return { kind: "waiting", since };
  return state.kind === "writing" ? { ...state, again: state.again ?? since } : state;
}

/** The state while a request is under way. */
export function whileWriting(entry: StatusEntry): WriteState {
  return { kind: "writing", again: undefined, failure: failureOf(entry) };
}

/** The state during a request of which the result is known. */
export function withResult(state: WriteState, failure: Failure | undefined): WriteState {
  return state.kind === "writing" ? { ...state, failure } : state;
}

/** The state after a request: what came meanwhile, or failed, is to be written. */
export function afterWriting(state: WriteState): WriteState {
  if (state.kind !== "writing") return state;
  const { again: since, failure } = state;
  if (since === undefined) return { kind: "idle" };
  return failure ? { kind: "backing off", since, failure } : { kind: "waiting", since };
}

/** The last failure, until a request succeeds. */
export function failureOf({ state }: StatusEntry): Failure | undefined {
  return "failure" in state ? state.failure : undefined;
}

/** The state without its pause: the API can be reached again. */
export function withoutPause(state: WriteState): WriteState {
  if (!("failure" in state) || !state.failure) return state;
  return { ...state, failure: { ...state.failure, count: 0, notBefore: 0 as MonotonicMs } };
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
function isFirst({ known, state }: StatusEntry): boolean {
  if (known.kind === "written" || state.kind === "writing") return false;
  return known.status?.startTime === undefined;
}

/** Judged once for each status: a writer with much to do asks again at every step. */
function urgencyOfEntry(entry: StatusEntry): number {
  const {
    latest: { status },
    judged,
  } = entry;
  const known = entry.known.kind === "written" ? entry.known.sent : entry.known.status;
  if (judged?.status === status && judged.known === known) return judged.urgency;
  const urgency = urgencyOf(known, status);
  entry.judged = { status, known, urgency };
  return urgency;
}

/** When the entry may be written. */
export function dueAt(entry: StatusEntry): MonotonicMs {
  const { joinUntil } = entry.latest;
  const notBefore = failureOf(entry)?.notBefore ?? (0 as MonotonicMs);
  if (joinUntil <= notBefore || entry.life !== "living") return notBefore;
  return urgencyOfEntry(entry) === URGENCY.other ? joinUntil : notBefore;
}

/** Whether `a` is to be written before `b`: of two that are as urgent the one that has waited longer. */
export function isMoreUrgent(a: StatusEntry, b: StatusEntry): boolean {
  const urgency = urgencyOfEntry(a);
  const other = urgencyOfEntry(b);
  return urgency !== other ? urgency < other : sinceOf(a) < sinceOf(b);
}

const sinceOf = ({ state }: StatusEntry): number => ("since" in state ? state.since : 0);

/** All that a full pass compares of one pod; objects are never changed, only replaced. */
export interface Compared {
  readonly target: IdentifiedPod | undefined;
  readonly status: PodStatus;
  readonly life: StatusEntry["life"];
}

/** Whether what was compared is the same still; an object that differs is another one. */
export function isUnchanged(before: Compared | undefined, now: Compared): boolean {
  return before?.target === now.target && before?.status === now.status && before.life === now.life;
}
