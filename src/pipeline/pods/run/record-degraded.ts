import { makeDecision } from "../../../api/decisions.ts";
import type { FoundPod } from "../../../api/observation.ts";
import { podSubject } from "../../../api/ports/decisions.ts";
import { withoutFigures } from "../../../kit/errors.ts";
import type { PodPorts } from "../ports.ts";
import type { PodRecord } from "../record/record.ts";
import type { PodSignal } from "../record/signals.ts";

/** The signal that an observation of the pod becomes. */
export function signalOf(found: FoundPod): PodSignal {
  if (found.kind === "observed") return { kind: "observed", observed: found.observed };
  return { kind: "unobserved", asOf: found.asOf, problem: found.problem };
}

/** Records that a pod cannot be observed, once for each cause, and that it can again. */
export function recordDegraded(
  before: string | undefined,
  record: PodRecord,
  { decisions, events }: Pick<PodPorts, "decisions" | "events">,
): void {
  const { pod } = record;
  const subject = podSubject(pod);
  const { degraded } = record.sync;
  if (before === degraded) return;
  if (degraded === undefined) {
    decisions.record(subject, makeDecision("resumePod", "it can be observed again", {}));
    return;
  }
  if (before !== undefined && withoutFigures(before) === withoutFigures(degraded)) return;
  const inputs = { problem: degraded };
  decisions.record(subject, makeDecision("holdPod", "it cannot be observed", inputs));
  const message = `error determining status: ${degraded}`;
  events.ofPod(pod, { type: "Warning", reason: "FailedSync", message });
}
