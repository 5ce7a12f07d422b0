// pure
import type { WallMs } from "../../kit/clock.ts";
import type { HandlerKind } from "./outcome.ts";
import type { ProbeKind, ProbeResult, Step } from "./verdict.ts";

/** What a probe now says of one attempt of a container; told only when it changes. */
export interface ProbeVerdict {
  readonly podUid: string;
  readonly container: string;
  readonly containerId: string;
  readonly kind: ProbeKind;
  readonly result: ProbeResult;
  /** What the deciding look gave, up to 10 KiB; empty when none was made. */
  readonly output: string;
  readonly atMs: WallMs;
}

/** Something worth an event on the pod. */
export interface ProbeEvent {
  readonly podUid: string;
  readonly namespace: string;
  readonly podName: string;
  readonly container: string;
  /** `spec.containers{name}`, or `spec.initContainers{name}` for a sidecar. */
  readonly fieldPath: string;
  readonly type: "Warning";
  readonly reason: "Unhealthy" | "ProbeWarning";
  readonly message: string;
}

/** One look that was made. */
export interface ProbeRecord {
  readonly atMs: WallMs;
  readonly durationMs: number;
  /** How much later than its turn it began: a busy node, or exec probes waiting for each other. */
  readonly lateMs: number;
  readonly result: "success" | "warning" | "failure" | "error";
  /** The beginning of the output. */
  readonly output: string;
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
  /** What it did on its last turn; `undefined` before the first. */
  readonly doing: Step | { readonly kind: "looking" } | undefined;
  readonly nextInMs: number | undefined;
  readonly counts: {
    readonly successful: number;
    readonly failed: number;
    readonly unknown: number;
  };
  /** Oldest first. */
  readonly history: readonly ProbeRecord[];
}
