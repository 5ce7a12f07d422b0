// pure
import type { ProbeKind, ProbeResult } from "../../api/probe-result.ts";
import type { WallMs } from "../../kit/clock.ts";
import type { HandlerKind } from "./outcome.ts";
import type { Step } from "./verdict.ts";

/** One probe attempt. */
export interface ProbeRecord {
  readonly atMs: WallMs;
  readonly durationMs: number;
  /** How much later than its turn it began: a busy node, or exec probes waiting for each other. */
  readonly lateMs: number;
  readonly containerId: string;
  readonly result: "success" | "warning" | "failure" | "error";
  /** The beginning of the output. */
  readonly output: string;
  /** Processes of an exec that ran out of time and had to be ended; left out when there were none. */
  readonly killed?: number;
}

/** One probe as it stands. */
export interface ProbeReport {
  readonly podUid: string;
  readonly namespace: string;
  readonly podName: string;
  readonly container: string;
  readonly kind: ProbeKind;
  readonly handler: HandlerKind;
  readonly containerId: string | undefined;
  readonly verdict: ProbeResult | undefined;
  readonly run: { readonly result: ProbeResult; readonly length: number } | undefined;
  /** Its last step; `undefined` before the first. */
  readonly doing: Step | { readonly kind: "probing" } | undefined;
  /** Its present period, and its timeout. */
  readonly periodMs: number;
  readonly timeoutMs: number;
  readonly nextInMs: number | undefined;
  readonly counts: {
    readonly successful: number;
    readonly failed: number;
    readonly unknown: number;
  };
  /** Time that all attempts took together: what an exec probe costs the node. */
  readonly busyMs: number;
  /** Processes that had to be ended after attempts that timed out. */
  readonly killed: number;
  /** Oldest first. */
  readonly history: readonly ProbeRecord[];
}
