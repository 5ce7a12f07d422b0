// pure
import { counterOf, DEFAULT_SECONDS, exponential, gaugeOf, histogramOf, named } from "./define.ts";

/** Of pods that start, up to an hour. */
const START_SECONDS = [
  0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800,
  2700, 3600,
] as const;
const RESIZE_MS = [
  10, 50, 100, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000,
] as const;
const CALL = ["server_api_version", "status_code"] as const;
const OPERATION = ["operation_type"] as const;
const HANDLER = ["runtime_handler"] as const;

/** Pods, their containers and the container runtime. */
export const WORKLOAD_METRICS = named({
  kubelet_desired_pods: gaugeOf(
    "ALPHA",
    "Pods that the agent should run; static is true if the pod is not from the API server.",
    ["static"],
  ),
  kubelet_active_pods: gaugeOf(
    "ALPHA",
    "Pods that count when others are admitted; static is true if the pod is not from the API server.",
    ["static"],
  ),
  kubelet_mirror_pods: gaugeOf("ALPHA", "Mirror pods that the API server has for static pods."),
  kubelet_working_pods: gaugeOf(
    "ALPHA",
    "Pods the agent works on, by phase, by whether they are desired, and by whether they are static.",
    ["lifecycle", "config", "static"],
  ),
  kubelet_restarted_pods_total: counterOf(
    "ALPHA",
    "Pods that were removed and made again under the same UID while the agent watched.",
    ["static"],
  ),
  kubelet_orphaned_runtime_pods_total: counterOf(
    "ALPHA",
    "Pods that were found in the container runtime and that no source names.",
  ),
  kubelet_containers_per_pod_count: histogramOf(
    "ALPHA",
    "Number of containers of each pod that the agent was given.",
    [1, 2, 4, 8, 16],
  ),
  kubelet_managed_ephemeral_containers: gaugeOf(
    "ALPHA",
    "Ephemeral containers in pods that the agent runs.",
  ),
  kubelet_running_pods: gaugeOf("ALPHA", "Pods that have a running sandbox."),
  kubelet_running_containers: gaugeOf("ALPHA", "Containers by state.", ["container_state"]),
  kubelet_started_pods_total: counterOf("ALPHA", "Attempts to make the sandbox of a pod."),
  kubelet_started_pods_errors_total: counterOf("ALPHA", "Sandboxes that could not be made."),
  kubelet_started_user_namespaced_pods_total: counterOf(
    "ALPHA",
    "Attempts to make the sandbox of a pod that has users of its own.",
  ),
  kubelet_started_user_namespaced_pods_errors_total: counterOf(
    "ALPHA",
    "Sandboxes of pods with users of their own that could not be made, or whose containers could not be started.",
  ),
  kubelet_started_containers_total: counterOf("ALPHA", "Attempts to start a container.", [
    "container_type",
  ]),
  kubelet_started_containers_errors_total: counterOf(
    "ALPHA",
    "Containers that could not be started, by the reason that their status shows.",
    ["container_type", "code"],
  ),
  kubelet_terminated_containers_total: counterOf(
    "ALPHA",
    "Containers that have ended, by exit code and reason as their status shows them.",
    ["container_type", "exit_code", "reason"],
  ),
  kubelet_pod_start_duration_seconds: histogramOf(
    "ALPHA",
    "Duration in seconds from when the agent sees a pod for the first time until it runs.",
    START_SECONDS,
  ),
  kubelet_pod_start_sli_duration_seconds: histogramOf(
    "ALPHA",
    "Duration in seconds from a pod's creation until all its containers run, without pulling images and running init containers.",
    START_SECONDS,
  ),
  kubelet_pod_start_total_duration_seconds: histogramOf(
    "ALPHA",
    "Duration in seconds from a pod's creation until all its containers run.",
    START_SECONDS,
  ),
  kubelet_first_network_pod_start_sli_duration_seconds: gaugeOf(
    "INTERNAL",
    "Duration in seconds until all containers of the first pod with a network of its own ran, without pulling images and running init containers.",
  ),
  kubelet_pod_worker_start_duration_seconds: histogramOf(
    "ALPHA",
    "Duration in seconds from when the agent sees a pod until it begins to work on it.",
    DEFAULT_SECONDS,
  ),
  kubelet_pod_worker_duration_seconds: histogramOf(
    "ALPHA",
    "Duration in seconds to sync a pod once, by operation type.",
    DEFAULT_SECONDS,
    OPERATION,
  ),
  kubelet_pod_watch_events_dropped_total: counterOf(
    "ALPHA",
    "Changes of pods that were dropped since a client of the pods API did not take them.",
  ),
  kubelet_pod_requests_total: counterOf(
    "ALPHA",
    "Calls of the pods API, by version of the API and status of the answer.",
    CALL,
  ),
  kubelet_pod_requests_list_total: counterOf(
    "ALPHA",
    "Calls of the pods API that list pods, by version of the API and status of the answer.",
    CALL,
  ),
  kubelet_pod_requests_get_total: counterOf(
    "ALPHA",
    "Calls of the pods API that get a pod, by version of the API and status of the answer.",
    CALL,
  ),
  kubelet_pod_requests_watch_total: counterOf(
    "ALPHA",
    "Watches of the pods API that have ended, by version of the API and status of the answer.",
    CALL,
  ),
  kubelet_pod_status_sync_duration_seconds: histogramOf(
    "ALPHA",
    "Duration in seconds from a change of a pod's status until the API server has it.",
    [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60],
  ),
  kubelet_pod_level_resources_admission_total: counterOf(
    "ALPHA",
    "Admitted pods, by where their resources are written and by QoS class.",
    ["config_mode", "qos_class"],
  ),
  kubelet_admission_rejections_total: counterOf("ALPHA", "Rejected pods, by reason.", ["reason"]),
  kubelet_preemptions: counterOf(
    "ALPHA",
    "Pods that were preempted for a critical pod, by the resource that was short.",
    ["preemption_signal"],
  ),
  kubelet_evictions: counterOf("ALPHA", "Pods ended by the node, by the signal that was short.", [
    "eviction_signal",
  ]),
  kubelet_eviction_stats_age_seconds: histogramOf(
    "ALPHA",
    "Time between the measurement and the eviction that follows from it.",
    DEFAULT_SECONDS,
    ["eviction_signal"],
  ),
  kubelet_container_requested_resizes_total: counterOf(
    "ALPHA",
    "Changes of containers' resources that were asked for, by resource, requirement and direction.",
    ["resource", "requirement", "operation"],
  ),
  kubelet_pod_pending_resizes: gaugeOf(
    "ALPHA",
    "Pending pod resizes, by reason and by group of priorities.",
    ["reason", "priority_bucket"],
  ),
  kubelet_pod_deferred_resize_duration_seconds: histogramOf(
    "ALPHA",
    "Duration in seconds for which a resize was Deferred, by what became of it and by group of priorities.",
    [5, 10, 15, 20, 30, 45, 60, 90, 120, 150, 180, 300, 600, 1200, 1800, 3600],
    ["resolution", "priority_bucket"],
  ),
  kubelet_pod_in_progress_resizes: gaugeOf("ALPHA", "Pod resizes in progress."),
  kubelet_pod_infeasible_resizes_total: counterOf(
    "ALPHA",
    "Pod resizes that can never be carried out here, by the rule that says so.",
    ["reason_detail"],
  ),
  kubelet_pod_deferred_accepted_resizes_total: counterOf(
    "ALPHA",
    "Pod resizes that had to wait and were then accepted, by what had them judged again.",
    ["retry_trigger"],
  ),
  kubelet_pod_resize_duration_milliseconds: histogramOf(
    "ALPHA",
    "Duration in milliseconds of carrying out a pod resize.",
    RESIZE_MS,
    ["success"],
  ),
  kubelet_lifecycle_handler_http_fallbacks_total: counterOf(
    "ALPHA",
    "Lifecycle hooks over HTTPS that were repeated over HTTP.",
  ),
  kubelet_sleep_action_terminated_early_total: counterOf(
    "ALPHA",
    "Sleeping lifecycle hooks that ended before their time.",
  ),
  kubelet_graceful_shutdown_start_time_seconds: gaugeOf(
    "ALPHA",
    "When the last graceful shutdown of the node began, in seconds since the epoch; 0 for never.",
  ),
  kubelet_graceful_shutdown_end_time_seconds: gaugeOf(
    "ALPHA",
    "When the last graceful shutdown of the node ended, in seconds since the epoch; 0 for never.",
  ),
  kubelet_runtime_operations_total: counterOf(
    "ALPHA",
    "Calls of the container runtime by type.",
    OPERATION,
  ),
  kubelet_runtime_operations_errors_total: counterOf(
    "ALPHA",
    "Calls of the container runtime that failed, by type.",
    OPERATION,
  ),
  kubelet_runtime_operations_duration_seconds: histogramOf(
    "ALPHA",
    "Duration of calls of the container runtime by type.",
    exponential(0.005, 2.5, 14),
    OPERATION,
  ),
  kubelet_run_podsandbox_duration_seconds: histogramOf(
    "ALPHA",
    "Duration in seconds of making a sandbox, by runtime handler.",
    DEFAULT_SECONDS,
    HANDLER,
  ),
  kubelet_run_podsandbox_errors_total: counterOf(
    "ALPHA",
    "Sandboxes that the runtime could not make, by runtime handler.",
    HANDLER,
  ),
  kubelet_pleg_relist_duration_seconds: histogramOf(
    "ALPHA",
    "Duration in seconds of listing all pods of the container runtime.",
    DEFAULT_SECONDS,
  ),
  kubelet_pleg_pod_relist_duration_seconds: histogramOf(
    "ALPHA",
    "Duration in seconds of observing one pod of the container runtime.",
    DEFAULT_SECONDS,
  ),
  kubelet_pleg_relist_interval_seconds: histogramOf(
    "ALPHA",
    "Interval in seconds between listings of all pods of the container runtime.",
    DEFAULT_SECONDS,
  ),
  kubelet_pleg_last_seen_seconds: gaugeOf(
    "ALPHA",
    "When the pods of the container runtime were last listed, in seconds since the epoch.",
  ),
  kubelet_pleg_discard_events: counterOf(
    "ALPHA",
    "Events of the container runtime that were left to the next observation, since work on their pod was under way.",
  ),
  kubelet_evented_pleg_connection_success_count: counterOf(
    "ALPHA",
    "Event streams of the container runtime that were opened.",
  ),
  kubelet_evented_pleg_connection_error_count: counterOf(
    "ALPHA",
    "Event streams of the container runtime that broke or could not be opened.",
  ),
  kubelet_evented_pleg_connection_latency_seconds: histogramOf(
    "ALPHA",
    "Latency in seconds between an event of the container runtime and its arrival.",
    DEFAULT_SECONDS,
  ),
  kubelet_cgroup_manager_duration_seconds: histogramOf(
    "ALPHA",
    "Duration in seconds of cgroup operations, by type.",
    DEFAULT_SECONDS,
    OPERATION,
  ),
  kubelet_cgroup_version: gaugeOf("ALPHA", "Version of the cgroup hierarchy."),
  kubelet_memory_qos_node_memory_min_bytes: gaugeOf(
    "ALPHA",
    "Memory in bytes of all pods that the kernel never reclaims (memory.min).",
  ),
  kubelet_memory_qos_node_memory_low_bytes: gaugeOf(
    "ALPHA",
    "Memory in bytes of all pods that the kernel reclaims last (memory.low).",
  ),
  kubelet_cri_losing_support: gaugeOf(
    "ALPHA",
    "1 for the Kubernetes version (label) that will not support this container runtime any more.",
    ["version"],
  ),
});
