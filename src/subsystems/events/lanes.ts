// pure
/** Priority of an event when not all can be kept or sent. */
import type { CoreEvent } from "../../api/generated/types.ts";
import { EVENT_REASONS, isEventReason, type Lane, type ReasonRules } from "../../api/reasons.ts";

/** Why a pod was not admitted: these are the last events about it. */
const ADMISSION =
  /^(?:OutOf\S+|NodeAffinity|NodeName|NodePorts|TaintToleration|PodOS\w+|InvalidNodeInfo|SysctlForbidden|TopologyAffinityError|UnexpectedAdmissionError|SMTAlignmentError|AppArmor|\w+NotSupported|PodFeatureUnsupported|NodeDeclaredFeaturesMismatch|NodeShutdown|UnsupportedPodField)$/;

/** The lane of an event with this reason. */
export function laneOf(reason: string | undefined): Lane {
  if (reason === undefined) return "ordinary";
  if (isEventReason(reason)) return EVENT_REASONS[reason].lane;
  return ADMISSION.test(reason) ? "lifecycle" : "ordinary";
}

/** Whether an event that is created on the API server may be sent seconds later. */
export function isDeferrable(reason: string | undefined): boolean {
  const rules: ReasonRules | undefined =
    reason !== undefined && isEventReason(reason) ? EVENT_REASONS[reason] : undefined;
  return rules?.deferrable === true;
}

/** How many worths there are; `worthOf` gives 0 to one less. */
export const WORTHS = 5;

/** Dropped first to last: repeat counts before new events, normal events before warnings. */
export function worthOf({ type, reason }: CoreEvent, repeated: boolean): number {
  if (laneOf(reason) === "lifecycle") return repeated ? 3 : 4;
  if (repeated) return 0;
  return type === "Warning" ? 2 : 1;
}
