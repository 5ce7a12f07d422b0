// pure
import type { Container, Probe } from "../../api/generated/types.ts";
import type { ProbeHandlerName } from "../../api/pod/probe-handlers.ts";
import { LATEST_RELEASE } from "../../config/release.ts";

/** One probe attempt on one container. */
export interface ProbeRequest {
  readonly probe: Probe;
  readonly container: Container;
  readonly podUid: string;
  readonly containerId: string;
  /** The probe; the same object for every attempt. */
  readonly owner: object;
  /** Whether an exec that runs out of time is ended with all it started. */
  readonly endLeftovers: boolean;
  /** The pod's address; empty while it has none. */
  readonly podIp: string;
  /** `name_namespace(uid)`, for messages. */
  readonly podText: string;
  readonly timeoutMs: number;
}

/** The outcome of one attempt. */
export type ProbeOutcome =
  | { readonly kind: "success"; readonly output: string }
  /** Counts as success; the output is worth an event. */
  | { readonly kind: "warning"; readonly output: string }
  | {
      readonly kind: "failure";
      readonly output: string;
      readonly timedOut: boolean;
      /** Processes of an exec that had to be ended, and those not reaped afterwards. */
      readonly killed?: number;
      readonly uncollected?: number;
    }
  /** The probe errored; no result for the container, retried unless it is `final`. */
  | { readonly kind: "error"; readonly message: string; readonly final?: true };

/** The handler of a probe; `none` is an error of the spec. */
export type HandlerKind = ProbeHandlerName | "none";

/** Sent as `User-Agent`; servers distinguish probes from traffic by it. */
export const USER_AGENT = `kube-probe/${LATEST_RELEASE}`;

/** Output that is kept of one probe. */
export const MAX_OUTPUT_BYTES = 10 * 1024;
