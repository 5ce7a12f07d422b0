/** Metrics of the work on pods. */
import { METRICS } from "../../api/metrics/metrics.ts";
import { type ContainerKind, usesUserNamespace } from "../../api/pod/pod.ts";
import type { Clock } from "../../kit/clock.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { ActedPod, PodMeasurePort } from "../pods/ports.ts";
import { requestedChanges } from "./requested-changes.ts";

type PodRecord = ActedPod["record"];

interface MeasurePortDeps {
  readonly metrics: MetricsRegistry;
  readonly clock: Pick<Clock, "wall">;
}

/** The Go kubelet's words for containers (metrics.go); a restartable init container is one of them. */
const CONTAINER_TYPES: Readonly<Record<ContainerKind, string>> = {
  regular: "container",
  init: "init_container",
  sidecar: "init_container",
  ephemeral: "ephemeral_container",
};

/** Counts and times in the Go kubelet's metrics. */
export function measurePort({ metrics, clock }: MeasurePortDeps): PodMeasurePort {
  const started = startCounters(metrics);
  const resizes = resizeMeasures(metrics);
  const workSeconds = metrics.histogram(METRICS.kubelet_pod_worker_duration_seconds);
  const workStart = metrics.histogram(METRICS.kubelet_pod_worker_start_duration_seconds);
  const countTakenOver = takenOverCounter(metrics);
  const orphans = metrics.counter(METRICS.kubelet_orphaned_runtime_pods_total);
  const recreated = metrics.counter(METRICS.kubelet_restarted_pods_total);
  for (const origin of ["", "true"]) recreated.add({ static: origin }, 0);
  return {
    acted: (acted) => {
      if (acted.action.kind === "createSandbox") started.pod(acted);
      else if (acted.action.kind === "startContainer") started.container(acted, acted.action);
      else if (acted.action.kind === "resizePod") resizes.carriedOut(acted);
      else if (acted.action.kind === "mountVolumes") countTakenOver(acted);
    },
    worked: (record, tookMs) => {
      if (record.life.kind !== "running") started.ended(record);
      const isFirst = isUntouched(record);
      workSeconds.observe(tookMs / 1000, { operation_type: operationOf(record, isFirst) });
      if (isFirst) workStart.observe(Math.max(0, clock.wall() - tookMs - record.startedAt) / 1000);
    },
    orphaned: () => orphans.add(),
    recreated: ({ desired }) => recreated.add({ static: desired.source === "api" ? "" : "true" }),
    ...resizes.judged,
  };
}

/** Whether nothing has been done for the pod yet. */
function isUntouched({ prerequisites, observed }: PodRecord): boolean {
  return prerequisites.directories === "absent" && observed.sandboxes.length === 0;
}

/** In the Go kubelet's words (types.SyncPodType). */
function operationOf({ life, resize }: PodRecord, isFirst: boolean): string {
  if (life.kind !== "waiting" && life.kind !== "running") return "kill";
  if (isFirst) return "create";
  return resize.inProgress ? "update" : "sync";
}

function startCounters(metrics: MetricsRegistry) {
  const pods = metrics.counter(METRICS.kubelet_started_pods_total);
  const podErrors = metrics.counter(METRICS.kubelet_started_pods_errors_total);
  const withUsers = userNamespaceCounters(metrics);
  const containers = metrics.counter(METRICS.kubelet_started_containers_total);
  const containerErrors = metrics.counter(METRICS.kubelet_started_containers_errors_total);
  return {
    pod: (acted: ActedPod) => {
      pods.add();
      if (acted.outcome.kind === "failed") podErrors.add();
      withUsers.pod(acted);
    },
    container: (
      acted: ActedPod,
      { name, containerKind }: { readonly name: string; readonly containerKind: ContainerKind },
    ) => {
      const { outcome } = acted;
      const container_type = CONTAINER_TYPES[containerKind];
      containers.add({ container_type });
      if (outcome.kind === "failed") containerErrors.add({ container_type, code: outcome.reason });
      withUsers.container(acted, name);
    },
    ended: withUsers.ended,
  };
}

/**
 * Pods with users of their own, and those of them that could not be started: most of what fails about user namespaces does
 * so when containers are created. A sandbox counts once, by the first try of each of its containers (kuberuntime_manager.go
 * SyncPod).
 */
function userNamespaceCounters(metrics: MetricsRegistry) {
  const total = metrics.counter(METRICS.kubelet_started_user_namespaced_pods_total);
  const errors = metrics.counter(METRICS.kubelet_started_user_namespaced_pods_errors_total);
  /** Pods whose sandbox is not counted as failed, with the containers tried in it. */
  const tried = new Map<string, Set<string>>();
  return {
    pod: ({ record: { uid, pod }, outcome }: ActedPod) => {
      if (!usesUserNamespace(pod)) return;
      total.add();
      if (outcome.kind === "failed") errors.add();
      else if (outcome.kind === "done") tried.set(uid, new Set());
    },
    container: ({ record: { uid }, outcome }: ActedPod, name: string) => {
      const names = tried.get(uid);
      if (!names || names.has(name)) return;
      names.add(name);
      if (outcome.kind !== "failed") return;
      errors.add();
      tried.delete(uid);
    },
    ended: ({ uid }: PodRecord) => void tried.delete(uid),
  };
}

/** Volumes that may be there from before the agent was started, once they have been gone through. */
function takenOverCounter(metrics: MetricsRegistry): (acted: ActedPod) => void {
  const total = metrics.counter(METRICS.reconstruct_volume_operations_total);
  const errors = metrics.counter(METRICS.reconstruct_volume_operations_errors_total);
  return ({ record: { pod, prerequisites }, outcome }) => {
    if (prerequisites.volumes !== "unknown" || outcome.kind === "abandoned") return;
    const volumes = pod.spec?.volumes?.length ?? 0;
    total.add({}, volumes);
    if (outcome.kind === "failed") errors.add({}, volumes);
  };
}

function resizeMeasures(metrics: MetricsRegistry) {
  const durations = metrics.histogram(METRICS.kubelet_pod_resize_duration_milliseconds);
  const requested = metrics.counter(METRICS.kubelet_container_requested_resizes_total);
  const infeasible = metrics.counter(METRICS.kubelet_pod_infeasible_resizes_total);
  const accepted = metrics.counter(METRICS.kubelet_pod_deferred_accepted_resizes_total);
  const judged: Pick<PodMeasurePort, "resizeRequested" | "resizeRefused" | "resizeAccepted"> = {
    resizeRequested: ({ pod }, allocation) => {
      for (const change of requestedChanges(pod, allocation)) requested.add({ ...change });
    },
    resizeRefused: (rule) => infeasible.add({ reason_detail: rule }),
    resizeAccepted: (trigger) => accepted.add({ retry_trigger: trigger }),
  };
  return {
    judged,
    carriedOut: ({ outcome, tookMs }: ActedPod) => {
      if (outcome.kind === "abandoned") return;
      durations.observe(tookMs, { success: String(outcome.kind === "done") });
    },
  };
}
