import type { Pod } from "../../api/generated/types.ts";
import { METRICS } from "../../api/metrics/metrics.ts";
import { hasOwnResources, qosClassOf } from "../../api/pod/qos.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { Pods } from "../../pipeline/pods/pods.ts";
import { isStatic, type PodRecord } from "../../pipeline/pods/record/record.ts";
import { ATTACH_LIMIT_REASON } from "../../subsystems/volumes/volumes.ts";

/** Reasons of rejections with a label of their own (kubelet.go admissionRejectionReasons). */
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
  ATTACH_LIMIT_REASON,
]);

/** The label of a rejection: programs that embed the agent may use any reason. */
export function countedReason(reason: string): string {
  if (NAMED_REASONS.has(reason)) return reason;
  return reason.startsWith("OutOf") ? "OutOfExtendedResources" : "Other";
}

function countRefusals(metrics: MetricsRegistry, pods: Pick<Pods, "subscribe">): void {
  const refusals = metrics.counter(METRICS.kubelet_admission_rejections_total);
  const counted = new Set<string>();
  pods.subscribe(({ uid, admission, life }) => {
    if (life.kind === "released") counted.delete(uid);
    else if (!counted.has(uid)) {
      const isLate =
        "cause" in life && "reason" in life.cause && life.cause.reason === ATTACH_LIMIT_REASON;
      if (admission.kind !== "rejected" && !isLate) return;
      counted.add(uid);
      const reason = admission.kind === "rejected" ? admission.reason : ATTACH_LIMIT_REASON;
      refusals.add({ reason: countedReason(reason) });
    }
  });
}

/** How the resources of an admitted pod are written, and its class, for each pod once (kubelet_pods.go). */
function countAdmitted(metrics: MetricsRegistry, pods: Pick<Pods, "subscribe">): void {
  const total = metrics.counter(METRICS.kubelet_pod_level_resources_admission_total);
  const counted = new Set<string>();
  pods.subscribe(({ uid, pod, admission, life, desired: { source } }) => {
    if (life.kind === "released") counted.delete(uid);
    else if (admission.kind === "admitted" && source !== "runtime" && !counted.has(uid)) {
      counted.add(uid);
      const qosClass = qosClassOf(pod).toLowerCase();
      total.add({ config_mode: resourcesMode(pod), qos_class: qosClass });
    }
  });
}

/** Where a pod's resources are written; empty where it has none. */
function resourcesMode({ spec }: Pod): string {
  const ofContainers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].some(
    ({ resources: { requests = {}, limits = {} } = {} }) =>
      Object.keys(requests).length > 0 || Object.keys(limits).length > 0,
  );
  if (spec?.resources && hasOwnResources(spec.resources))
    return ofContainers ? "pod_and_container_level" : "pod_level";
  return ofContainers ? "container_level" : "";
}

const isDesired = ({ desired: { source, removed } }: PodRecord): boolean =>
  source !== "runtime" && !removed;

/** A pod that has ended, or was rejected, uses no resources. */
const isActive = (record: PodRecord): boolean =>
  isDesired(record) &&
  record.admission.kind !== "rejected" &&
  record.life.kind !== "terminated" &&
  record.life.kind !== "released";

/**
 * Why the agent works on a pod and where that comes from; each with every phase, also with those that cannot be (kubelet_pods.go
 * HandlePodCleanups).
 */
const WORKING = [
  { config: "desired", statics: ["", "true"] },
  { config: "orphan", statics: ["", "true"] },
  { config: "runtime_only", statics: ["unknown"] },
] as const;

const LIFECYCLES = ["sync", "terminating", "terminated"] as const;

function workOn(record: PodRecord): { config: string; lifecycle: string; static: string } {
  const { life } = record;
  const { source } = record.desired;
  const config = isDesired(record) ? "desired" : source === "runtime" ? "runtime_only" : "orphan";
  const begun = config === "desired" ? "sync" : "terminating";
  const lifecycle = life.kind === "waiting" || life.kind === "running" ? begun : life.kind;
  return {
    config,
    lifecycle: lifecycle === "released" ? "terminated" : lifecycle,
    static: source === "runtime" ? "unknown" : isStatic(record) ? "true" : "",
  };
}

function countByLife(metrics: MetricsRegistry, pods: Pick<Pods, "list" | "successors">): void {
  const byOrigin = (found: readonly Pick<PodRecord, "desired">[]) =>
    [false, true].map((wanted) => ({
      labels: { static: wanted ? "true" : "" },
      value: found.filter((each) => isStatic(each) === wanted).length,
    }));
  // One that waits until its predecessor of the same name has gone is to run too.
  metrics.collected(METRICS.kubelet_desired_pods, () =>
    byOrigin([...pods.list().filter(isDesired), ...pods.successors()]),
  );
  metrics.collected(METRICS.kubelet_active_pods, () => byOrigin(pods.list().filter(isActive)));
  metrics.collected(METRICS.kubelet_working_pods, () => {
    const works = pods.list().map(workOn);
    return WORKING.flatMap(({ config, statics }) =>
      LIFECYCLES.flatMap((lifecycle) =>
        statics.map((origin) => ({
          labels: { config, lifecycle, static: origin },
          value: works.filter(
            (work) =>
              work.config === config && work.lifecycle === lifecycle && work.static === origin,
          ).length,
        })),
      ),
    );
  });
}

/** Sources of the counts. */
interface PodCountDeps {
  readonly pods: Pick<Pods, "subscribe" | "list" | "successors">;
  /** Mirror pods that the API server has for static pods; absent where there is no API server. */
  readonly mirrors?: () => number;
}

function countContainers(metrics: MetricsRegistry, pods: PodCountDeps["pods"]): void {
  const perPod = metrics.histogram(METRICS.kubelet_containers_per_pod_count);
  const counted = new Set<string>();
  pods.subscribe(({ uid, pod, life, desired: { source } }) => {
    if (life.kind === "released") counted.delete(uid);
    else if (source !== "runtime" && !counted.has(uid)) {
      counted.add(uid);
      perPod.observe(pod.spec?.containers.length ?? 0);
    }
  });
  metrics.collected(METRICS.kubelet_managed_ephemeral_containers, () => [
    {
      value: pods
        .list()
        .filter(isActive)
        .reduce((sum, { pod }) => sum + (pod.spec?.ephemeralContainers?.length ?? 0), 0),
    },
  ]);
}

/** Counts pods by life and by quality of service, and those that were refused. */
export function exposePods(
  metrics: MetricsRegistry,
  { pods, mirrors = () => 0 }: PodCountDeps,
): void {
  countRefusals(metrics, pods);
  countContainers(metrics, pods);
  metrics.collected(METRICS.kubelet_mirror_pods, () => [{ value: mirrors() }]);
  countAdmitted(metrics, pods);
  countByLife(metrics, pods);
  metrics.collected(
    { name: "nodelet_pods_by_qos", help: "Pods by QoS class.", type: "gauge" },
    () => {
      const classes = new Map<string, number>();
      for (const { pod } of pods.list())
        classes.set(qosClassOf(pod), (classes.get(qosClassOf(pod)) ?? 0) + 1);
      return [...classes].map(([qos, value]) => ({ labels: { qos_class: qos }, value }));
    },
  );
}
