import { qosClassOf } from "../api/qos.ts";
import type { MetricsRegistry } from "../kit/metrics.ts";
import type { Pods } from "../pipeline/pods/pods.ts";

/** Reasons of refusals that are told apart (kubelet.go admissionRejectionReasons). */
const NAMED_REASONS: ReadonlySet<string> = new Set([
  "AppArmor",
  "PodOSSelectorNodeLabelDoesNotMatch",
  "PodOSNotSupported",
  "InvalidNodeInfo",
  "InitContainerRestartPolicyForbidden",
  "SupplementalGroupsPolicyNotSupported",
  "UnexpectedAdmissionError",
  "UnknownReason",
  "UnexpectedPredicateFailureType",
  "OutOfcpu",
  "OutOfmemory",
  "OutOfephemeral-storage",
  "OutOfpods",
  "PodLevelResourcesNotSupported",
  "Evicted",
  "SysctlForbidden",
  "TopologyAffinityError",
  "NodeShutdown",
]);

/** The reason by which a refusal is counted: whoever embeds the agent may give any. */
export function countedReason(reason: string): string {
  if (NAMED_REASONS.has(reason)) return reason;
  return reason.startsWith("OutOf") ? "OutOfExtendedResources" : "Other";
}

function countRefusals(metrics: MetricsRegistry, pods: Pick<Pods, "subscribe">): void {
  const refusals = metrics.counter({
    name: "kubelet_admission_rejections_total",
    help: "Pods that were refused, by reason.",
  });
  const counted = new Set<string>();
  pods.subscribe(({ uid, admission, life }) => {
    if (life.kind === "released") counted.delete(uid);
    else if (admission.kind === "rejected" && !counted.has(uid)) {
      counted.add(uid);
      refusals.add({ reason: countedReason(admission.reason) });
    }
  });
}

function countResizes(metrics: MetricsRegistry, pods: Pick<Pods, "list">): void {
  metrics.collected(
    { name: "kubelet_pod_pending_resizes", help: "Resizes that wait, by reason.", type: "gauge" },
    () => {
      const waiting = pods.list().flatMap(({ resize }) => resize.pending?.reason ?? []);
      return ["Deferred", "Infeasible"].map((reason) => ({
        labels: { reason: reason.toLowerCase() },
        value: waiting.filter((each) => each === reason).length,
      }));
    },
  );
  metrics.collected(
    {
      name: "kubelet_pod_in_progress_resizes",
      help: "Resizes that were given and are being carried out.",
      type: "gauge",
    },
    () => [{ value: pods.list().filter(({ resize }) => resize.inProgress).length }],
  );
}

/** Counts pods by life and by quality of service, and those that were refused. */
export function exposePods(
  metrics: MetricsRegistry,
  { pods }: { readonly pods: Pick<Pods, "subscribe" | "list"> },
): void {
  countRefusals(metrics, pods);
  countResizes(metrics, pods);
  metrics.collected(
    { name: "kubelet_desired_pods", help: "Pods the agent knows, by life.", type: "gauge" },
    () => {
      const lives = new Map<string, number>();
      for (const { life } of pods.list()) lives.set(life.kind, (lives.get(life.kind) ?? 0) + 1);
      return [...lives].map(([life, value]) => ({ labels: { life }, value }));
    },
  );
  metrics.collected(
    { name: "nodelet_pods_by_qos", help: "Pods by quality of service.", type: "gauge" },
    () => {
      const classes = new Map<string, number>();
      for (const { pod } of pods.list())
        classes.set(qosClassOf(pod), (classes.get(qosClassOf(pod)) ?? 0) + 1);
      return [...classes].map(([qos, value]) => ({ labels: { qos_class: qos }, value }));
    },
  );
}
