// pure

import type { EventText } from "../../api/event-text.ts";
import type { ProbeKind } from "../../api/probe-result.ts";
import type { ProbeOutcome } from "./outcome.ts";

const TITLE: Readonly<Record<ProbeKind, string>> = {
  liveness: "Liveness",
  readiness: "Readiness",
  startup: "Startup",
};

/** The event of a probe outcome, with the Go kubelet's text; none for a success. */
export function probeEvent(
  kind: ProbeKind,
  outcome: ProbeOutcome,
): Pick<EventText<"Unhealthy" | "ProbeWarning">, "reason" | "message"> | undefined {
  const title = TITLE[kind];
  switch (outcome.kind) {
    case "error":
      return {
        reason: "Unhealthy",
        message: `${title} probe errored and resulted in unknown state: ${outcome.message}`,
      };
    case "failure":
      return { reason: "Unhealthy", message: `${title} probe failed: ${outcome.output}` };
    case "warning":
      return { reason: "ProbeWarning", message: `${title} probe warning: ${outcome.output}` };
    case "success":
      return undefined;
    default:
      return outcome satisfies never;
  }
}

/** Ended processes without anybody to collect them, from which on their container is warned about. */
export const MANY_UNCOLLECTED = 20;

/** Event message when timed-out exec probes leave zombie processes in a container. */
export function uncollectedText(kind: ProbeKind, count: number): string {
  return `${TITLE[kind]} probe warning: ${count} processes of commands that timed out have ended, but the main process of the container does not collect them; let it run under an init, or set shareProcessNamespace`;
}
