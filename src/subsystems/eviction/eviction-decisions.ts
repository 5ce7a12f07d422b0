// pure
import { type Decision, makeDecision } from "../../api/decisions.ts";
import type { LocalExcess } from "./local-limits.ts";
import { amountText } from "./observations.ts";
import type { PressurePlan, Victim } from "./plan.ts";
import type { RankedPod } from "./rank.ts";
import { isHard, thresholdText } from "./thresholds.ts";

/** Pods beside the victim that a decision names. */
const NEIGHBOURS = 3;

/** Why a pod was evicted for pressure: what was measured, its place among its neighbours, what would have saved it. */
export function evictionDecision(pressure: PressurePlan, victim: Victim): Decision {
  const { threshold, observed, resource, ranking } = pressure;
  const { signal } = threshold;
  const { ranked, graceSeconds, remedy } = victim;
  const place = ranking.indexOf(ranked);
  const others = ranking.filter((one) => one !== ranked);
  const next = others.slice(place, place + NEIGHBOURS);
  const amount = (value: number) => amountText(signal, value);
  return makeDecision("evictPod", ruleOf(ranked), {
    signal,
    resource,
    kind: isHard(threshold) ? "hard" : "soft",
    threshold: thresholdText(threshold, observed),
    available: amount(observed.available),
    graceSeconds,
    pods: ranking.length,
    priority: ranked.priority,
    requested: amount(ranked.requested),
    ...(ranked.used === undefined ? {} : { used: amount(ranked.used) }),
    passedOver: others.slice(0, place).map(({ name }) => name),
    next: next.map((one) => neighbourText(one, amount)),
    ...(remedy.request === undefined ? {} : { savedByRequest: amount(remedy.request) }),
    ...(remedy.priority === undefined ? {} : { savedByPriority: remedy.priority }),
  });
}

function ruleOf({ used, requested }: RankedPod): string {
  if (used === undefined) return "not measured";
  return used > requested ? "uses more than it requests" : "first of those within their requests";
}

function neighbourText(one: RankedPod, amount: (value: number) => string): string {
  const { name, used, requested, priority } = one;
  const usage = used === undefined ? "not measured" : `uses ${amount(used)}`;
  return `${name} (${usage}, requests ${amount(requested)}, priority ${priority})`;
}

/** Why a pod was evicted for a limit of its own. */
export function excessDecision(excess: LocalExcess, graceSeconds: number): Decision {
  const { limit, what, usedBytes, limitBytes } = excess;
  return makeDecision("exceedStorage", limit, { what, usedBytes, limitBytes, graceSeconds });
}

/** Resources reclaimed from the node before evicting a pod, and whether that was enough. */
export function reclaimDecision(
  { threshold, observed, resource, reclaim }: PressurePlan,
  after: { readonly relieved: boolean; readonly available: number | undefined },
): Decision {
  const { signal } = threshold;
  return makeDecision("reclaimNode", after.relieved ? "enough" : "not enough", {
    signal,
    resource,
    steps: reclaim,
    threshold: thresholdText(threshold, observed),
    before: amountText(signal, observed.available),
    ...(after.available === undefined ? {} : { after: amountText(signal, after.available) }),
  });
}
