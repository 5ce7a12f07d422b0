/** Preemption for critical pods: others are terminated, and the critical one waits until they are. */
import { makeDecision } from "../../api/decisions.ts";
import { METRICS } from "../../api/metrics/metrics.ts";
import { graceSecondsOf, isCriticalPod, podDisplayName } from "../../api/pod/pod.ts";
import type { PodNews } from "../../api/pod-news.ts";
import { type Decisions, podSubject } from "../../api/ports/decisions.ts";
import type { PodEvents } from "../../api/ports/events.ts";
import type { Counter, MetricsRegistry } from "../../kit/metrics.ts";
import type { Publisher } from "../../kit/topic.ts";
import type { AdmissionVerdict } from "../pods/admit.ts";
import type { PodRecord } from "../pods/record/record.ts";
import { isShortOnly, type NodeInfo, planPreemption, shortages } from "./rules.ts";

interface PreemptionDeps {
  readonly events: PodEvents;
  readonly decisions: Pick<Decisions, "record">;
  readonly news: Publisher<PodNews>;
  readonly metrics: MetricsRegistry;
}

interface PreemptDeps extends PreemptionDeps {
  readonly nodeInfo: NodeInfo;
  /** Pods that went, by the resources that were short, separated by commas. */
  readonly preemptions: Counter;
}

/**
 * Ends pods so that a critical one fits, and has it wait for them; `undefined` when that is not to be, or
 * would not help. The pod of `candidate` is the one that shall fit.
 */
export type Preempt = (
  candidate: PodRecord,
  others: readonly PodRecord[],
  nodeInfo: NodeInfo,
) => AdmissionVerdict | undefined;

/** For new pods and for resizes: the preemptions of both are counted together. */
export function createPreemption(deps: PreemptionDeps): Preempt {
  const preemptions = deps.metrics.counter(METRICS.kubelet_preemptions);
  return (candidate, others, nodeInfo) =>
    preemptPods(candidate, others, { ...deps, nodeInfo, preemptions });
}

/** Interval of checks whether preempted pods have ended. */
const RETRY_MS = 500;
const RULE = "preemption";
const REASON = "Preempting";
const MESSAGE = "Preempted in order to admit critical pod";
const DISRUPTION = "Pod was preempted by Kubelet to accommodate a critical pod.";

/** Source: preemption.go HandleAdmissionFailure. */
function preemptPods(
  candidate: PodRecord,
  others: readonly PodRecord[],
  deps: PreemptDeps,
): AdmissionVerdict | undefined {
  const { pod } = candidate;
  const { nodeInfo } = deps;
  const podsOf = (records: readonly PodRecord[]) => records.map((record) => record.pod);
  if (!isCriticalPod(pod) || !isShortOnly({ candidate: pod, others: podsOf(others), nodeInfo }))
    return undefined;
  const staying = others.filter(({ life }) => life.kind !== "terminating");
  const missing = shortages(pod, podsOf(staying), nodeInfo);
  if (missing.length === 0) return wait("waiting for pods that are ending");
  const plan = planPreemption(pod, podsOf(staying), missing);
  if (plan.kind === "impossible") return undefined;
  const uids = new Set(plan.victims.map(({ metadata }) => metadata?.uid));
  const victims = staying.filter(({ uid }) => uids.has(uid));
  for (const victim of victims) evict(victim, podDisplayName(pod), deps);
  const preemption_signal = missing.map(({ name }) => name).join(",");
  deps.preemptions.add({ preemption_signal }, victims.length);
  return wait(
    `waiting for the end of ${victims.map((each) => podDisplayName(each.pod)).join(", ")}`,
  );
}

function wait(message: string): AdmissionVerdict {
  return { kind: "defer", rule: RULE, reason: REASON, message, retryInMs: RETRY_MS };
}

function evict(victim: PodRecord, forPod: string, { events, decisions, news }: PreemptDeps): void {
  events.ofPod(victim.pod, { type: "Warning", reason: REASON, message: MESSAGE });
  const graceSeconds = graceSecondsOf(victim.pod);
  const reason = `pod ${forPod} is critical and needs its place`;
  decisions.record(podSubject(victim.pod), makeDecision("killPod", RULE, { graceSeconds, reason }));
  // So do the Go kubelet and the node suite have it (critical_pod_test.go).
  const cause = {
    reason: REASON,
    message: MESSAGE,
    disruption: DISRUPTION,
    byExitCodes: true,
  } as const;
  news.publish({ kind: "evicted", uid: victim.uid, ...cause });
}
