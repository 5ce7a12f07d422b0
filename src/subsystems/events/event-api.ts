// pure
/** The way to the API server, as the sink needs it, and what its refusals mean. */
import type { CoreEvent } from "../../api/generated/types.ts";
import type { EventPatch } from "./correlate.ts";
import type { EventMode } from "./policy.ts";

/** Writes events (core/v1). Everything it throws is an `EventApiError`, or has no connection as its cause. */
export interface EventApi {
  /** Makes the event in the namespace that its metadata name; resolves with what the server made of it. */
  create(event: CoreEvent, signal: AbortSignal): Promise<CoreEvent>;
  /** Changes an event by a strategic merge patch. */
  patch(event: EventName, patch: EventPatch, signal: AbortSignal): Promise<CoreEvent>;
}

/** Which event. */
export interface EventName {
  readonly namespace: string;
  readonly name: string;
}

/** Why a write failed. */
export type EventApiFault =
  /** The server answered with a `Status`. */
  | {
      readonly kind: "status";
      readonly status: number;
      /** `AlreadyExists`, `NotFound`, … */
      readonly reason?: string;
      /** Reasons of `details.causes`, e.g. `NamespaceTerminating`. */
      readonly causes?: readonly string[];
      readonly retryAfterMs?: number;
    }
  /** The answer is not what such a request is answered with. */
  | { readonly kind: "unexpectedObject" }
  /** The request could not even be made. */
  | { readonly kind: "construct" }
  /** No answer. */
  | { readonly kind: "transport" };

/** A write that failed. */
export class EventApiError extends Error {
  override readonly name = "EventApiError";
  readonly fault: EventApiFault;

  constructor(fault: EventApiFault, message: string, options?: { readonly cause: unknown }) {
    super(message, options);
    this.fault = fault;
  }
}

/** The error; anything other than an `EventApiError` counts as no answer. */
export function faultOf(thrown: unknown): EventApiFault {
  return thrown instanceof EventApiError ? thrown.fault : { kind: "transport" };
}

/** Why an event is given up. */
export type RefusalReason = "construct" | "rejected" | "exists" | "namespaceGone";

/** Consequence of a failed write for the event. */
type WriteVerdict =
  /** An earlier try has arrived after all. */
  | { readonly kind: "arrived" }
  | { readonly kind: "drop"; readonly why: RefusalReason; readonly quiet: boolean }
  /** `away`: it is not about this event, so all others wait too. */
  | { readonly kind: "retry"; readonly away: boolean; readonly afterMs: number | undefined };

const NAMESPACE_TERMINATING = "NamespaceTerminating";
const MISSING_STATUS = 404;
const CONFLICT_STATUS = 409;

/** Classifies a failed write. `triedBefore`: an earlier attempt for the same event may have arrived. */
export function judgeFault(
  fault: EventApiFault,
  mode: EventMode,
  triedBefore: boolean,
): WriteVerdict {
  switch (fault.kind) {
    case "construct":
      return { kind: "drop", why: "construct", quiet: false };
    case "unexpectedObject":
      return { kind: "retry", away: false, afterMs: undefined };
    case "transport":
      return { kind: "retry", away: true, afterMs: undefined };
    case "status":
      return judgeStatus(fault, mode, triedBefore);
    default:
      return fault satisfies never;
  }
}

function judgeStatus(
  { status, reason, causes = [], retryAfterMs }: Extract<EventApiFault, { kind: "status" }>,
  mode: EventMode,
  triedBefore: boolean,
): WriteVerdict {
  if (status === CONFLICT_STATUS && reason === "AlreadyExists")
    return triedBefore && mode === "Protected"
      ? { kind: "arrived" }
      : { kind: "drop", why: "exists", quiet: true };
  if (causes.includes(NAMESPACE_TERMINATING))
    return { kind: "drop", why: "namespaceGone", quiet: true };
  if (mode === "Reference") return { kind: "drop", why: "rejected", quiet: false };
  if (status === MISSING_STATUS) return { kind: "drop", why: "namespaceGone", quiet: true };
  // A certificate that is not yet known, a server that is starting or has too much to do.
  if (status === 401) return { kind: "retry", away: true, afterMs: retryAfterMs };
  if (status === 429 || status >= 500) return { kind: "retry", away: false, afterMs: retryAfterMs };
  return { kind: "drop", why: "rejected", quiet: false };
}

/** One event to be written. */
export interface EventWrite {
  readonly event: CoreEvent;
  /** There for an event that the server should have already. */
  readonly patch: EventPatch | undefined;
}

/** Whether the server replied NotFound. */
export function isUnknownObject(thrown: unknown): boolean {
  const fault = faultOf(thrown);
  return fault.kind === "status" && fault.status === MISSING_STATUS;
}
