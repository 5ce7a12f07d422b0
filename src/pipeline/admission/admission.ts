/**
 * Admission: whether a pod may run here. In: a new pod, the pods that hold resources, what node and runtime can do.
 * Out: a verdict with its rule. Invariants: our rules are asked before those of the embedding program; who is
 * ended for a critical pod is published as news, and the pod waits until it has gone.
 *
 *     const admit = createAdmission(deps);
 *     const verdict = await admit(candidate, holders); // { kind: "reject", rule, reason, message }
 */
import { METRICS } from "../../api/metrics/metrics.ts";
import type { PodNews } from "../../api/pod-news.ts";
import type { Decisions } from "../../api/ports/decisions.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { Publisher } from "../../kit/topic.ts";
import type { Outside } from "../../outside/outside.ts";
import type { Events } from "../../subsystems/events/events.ts";
import type { Runtime } from "../../subsystems/runtime/runtime.ts";
import type { Admit } from "../pods/admit.ts";
import { securityOf, UNASKED_RUNTIME } from "./confinement.ts";
import { heldBy } from "./held-resources.ts";
import type { AllocationLedger } from "./ledger.ts";
import { preemptPods } from "./preempt-pods.ts";
import { judge, type NodeInfo, RULES, requiresStrictGroups } from "./rules.ts";

export { heldBy } from "./held-resources.ts";

interface AdmissionDeps {
  readonly outside: Outside;
  readonly events: Events;
  readonly runtime: Runtime;
  readonly decisions: Pick<Decisions, "record">;
  readonly ledger: AllocationLedger;
  readonly news: Publisher<PodNews>;
  readonly metrics: MetricsRegistry;
  readonly nodeInfo: () => NodeInfo;
  /** Rules of the embedding program; evaluated after our own. */
  readonly admit?: Admit;
}

/** Our rules, then those of the embedding program. */
export function createAdmission(deps: AdmissionDeps): Admit {
  const preemptions = deps.metrics.counter(METRICS.kubelet_preemptions);
  const onPreempted = (preemption_signal: string, pods: number) =>
    preemptions.add({ preemption_signal }, pods);
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
      const place = preemptPods(candidate, holders, { ...deps, nodeInfo, onPreempted });
      return place ?? { kind: "reject", ...refusal };
    }
    return (await deps.admit?.(candidate, others)) ?? { kind: "admit", rules: RULES.length };
  };
}
