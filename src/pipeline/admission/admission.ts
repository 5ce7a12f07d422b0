/**
 * Admission: whether a pod may run here. In: a new pod, the pods that hold resources, what node and runtime can do.
 * Out: a verdict with its rule. Invariants: our rules are asked before those of the embedding program; who is
 * ended for a critical pod is published as news, and the pod waits until it has gone.
 *
 *     const admit = createAdmission(deps);
 *     const verdict = await admit(candidate, holders); // { kind: "reject", rule, reason, message }
 */
import type { Outside } from "../../outside/outside.ts";
import type { Events } from "../../subsystems/events/events.ts";
import type { Runtime } from "../../subsystems/runtime/runtime.ts";
import type { Admit } from "../pods/admit.ts";
import { securityOf, UNASKED_RUNTIME } from "./confinement.ts";
import { heldBy } from "./held-resources.ts";
import type { AllocationLedger } from "./ledger.ts";
import type { Preempt } from "./preempt-pods.ts";
import { judge, type NodeInfo, RULES, requiresStrictGroups } from "./rules.ts";

export { heldBy } from "./held-resources.ts";
export { createPreemption, type Preempt } from "./preempt-pods.ts";

interface AdmissionDeps {
  readonly outside: Outside;
  readonly events: Events;
  readonly runtime: Runtime;
  readonly ledger: AllocationLedger;
  readonly preempt: Preempt;
  readonly nodeInfo: () => NodeInfo;
  /** Rules of the embedding program; evaluated after our own. */
  readonly admit?: Admit;
}

/** Our rules, then those of the embedding program. */
export function createAdmission(deps: AdmissionDeps): Admit {
  return async (candidate, others) => {
    const { ready } = deps.runtime.watch.health.get();
    if (!ready && requiresStrictGroups(candidate.pod)) return UNASKED_RUNTIME;
    const nodeInfo = { ...deps.nodeInfo(), security: securityOf(candidate.pod, deps) };
    const holders = others.map((record) => {
      const pod = heldBy(record, deps.ledger);
      return pod === record.pod ? record : { ...record, pod };
    });
    const refusal = judge({
      candidate: candidate.pod,
      others: holders.map(({ pod }) => pod),
      nodeInfo,
    });
    if (refusal) {
      const place = deps.preempt(candidate, holders, nodeInfo);
      return place ?? { kind: "reject", ...refusal };
    }
    return (await deps.admit?.(candidate, others)) ?? { kind: "admit", rules: RULES.length };
  };
}
