// pure
import { makeDecision } from "../../../api/decisions.ts";
import type { PodRecord } from "../record/record.ts";
import { livingOutdated } from "../record/rounds.ts";
import type { PlanDraft } from "./plan-draft.ts";

/**
 * Ends what is left of a round that is over, all at once and without hooks; nothing of the next one is
 * started before (KEP-5532). Says whether there was anything to end.
 */
export function planRoundEnd(record: PodRecord, draft: PlanDraft): boolean {
  const living = livingOutdated(record.observed);
  if (living.length === 0) return false;
  const detail = (name: string) =>
    `Container ${name} will be restarted with all containers of the pod`;
  draft.actions.push({
    kind: "stopContainers",
    stops: living.map(({ id, name }) => ({
      id,
      name,
      graceSeconds: 0,
      message: detail(name),
      preStop: false,
    })),
    decision: living.map(({ name }) =>
      makeDecision("killContainer", "restartPolicyRules: RestartAllContainers", {
        container: name,
        graceSeconds: 0,
        detail: detail(name),
      }),
    ),
  });
  return true;
}
