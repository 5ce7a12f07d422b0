// pure
import { counterOf, DEFAULT_SECONDS, exponential, gaugeOf, histogramOf, named } from "./define.ts";

const PULL_SECONDS = [
  1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600,
] as const;
const STORAGE_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600] as const;
const PLUGIN = ["plugin_name"] as const;
const SERVER = ["server_api_version"] as const;
const CLAIM = ["namespace", "persistentvolumeclaim"] as const;
const PROBE = ["probe_type", "container", "pod", "namespace"] as const;
const ACCESS = ["access_mode"] as const;
const ALIGNED = ["scope", "boundary"] as const;
const CONTAINER = ["container", "pod", "namespace"] as const;
const POD = ["pod", "namespace"] as const;

/** Images, volumes and devices. */
export const NODE_METRICS = named({
  kubelet_image_pull_duration_seconds: histogramOf(
    "ALPHA",
    "Duration in seconds to pull an image.",
    PULL_SECONDS,
    ["image_size_in_bytes"],
  ),
  kubelet_image_manager_ensure_image_requests_total: counterOf(
    "ALPHA",
    "Number of ensure-image requests processed by the kubelet.",
    ["present_locally", "pull_policy", "pull_required"],
  ),
  kubelet_image_garbage_collected_total: counterOf(
    "ALPHA",
    "Total number of images garbage collected by the kubelet, whether through disk usage or image age.",
    ["reason"],
  ),
  kubelet_imagemanager_image_mustpull_checks_total: counterOf(
    "ALPHA",
    "Checks whether a pod may use an image that is there, by result.",
    ["result"],
  ),
  kubelet_imagemanager_ondisk_pulledrecords: gaugeOf(
    "ALPHA",
    "Records of pulled images on disk, with who may use them.",
  ),
  kubelet_imagemanager_ondisk_pullintents: gaugeOf(
    "ALPHA",
    "Notes on disk of pulls that have begun.",
  ),
  kubelet_imagemanager_inmemory_pulledrecords_usage_percent: gaugeOf(
    "ALPHA",
    "Records of pulled images in memory, in percent of the most that are kept.",
  ),
  kubelet_imagemanager_inmemory_pullintents_usage_percent: gaugeOf(
    "ALPHA",
    "Notes of pulls that have begun in memory, in percent of the most that are kept.",
  ),
  kubelet_image_volume_requested_total: counterOf(
    "BETA",
    "Image volumes that containers asked for.",
  ),
  kubelet_image_volume_mounted_succeed_total: counterOf("BETA", "Image volumes that were mounted."),
  kubelet_image_volume_mounted_errors_total: counterOf(
    "BETA",
    "Image volumes that could not be mounted.",
  ),
  kubelet_credential_provider_plugin_duration: histogramOf(
    "ALPHA",
    "Duration of execution in seconds for credential provider plugin",
    DEFAULT_SECONDS,
    PLUGIN,
  ),
  kubelet_credential_provider_plugin_errors_total: counterOf(
    "ALPHA",
    "Number of errors from credential provider plugin",
    PLUGIN,
  ),
  kubelet_credential_provider_config_info: gaugeOf(
    "ALPHA",
    "Hash of the configuration of the credential providers. The value is always 1.",
    ["hash"],
  ),
  storage_operation_duration_seconds: histogramOf(
    "BETA",
    "Duration in seconds of one operation on a volume.",
    STORAGE_SECONDS,
    ["volume_plugin", "operation_name", "status", "migrated"],
  ),
  csi_operations_seconds: histogramOf(
    "ALPHA",
    "Duration in seconds of a call to a CSI driver, by method and gRPC status.",
    STORAGE_SECONDS,
    ["driver_name", "method_name", "grpc_status_code", "migrated"],
  ),
  volume_operation_total_seconds: histogramOf(
    "BETA",
    "Duration in seconds of a volume's set-up or removal from end to end, with all attempts.",
    STORAGE_SECONDS,
    ["plugin_name", "operation_name"],
  ),
  volume_manager_total_volumes: gaugeOf(
    "ALPHA",
    "Volumes of pods: those that should be there and those that are.",
    ["plugin_name", "state"],
  ),
  kubelet_orphan_pod_cleaned_volumes: gaugeOf(
    "ALPHA",
    "Pods that nobody knew any more and whose volumes the last pass has removed.",
  ),
  kubelet_orphan_pod_cleaned_volumes_errors: gaugeOf(
    "ALPHA",
    "Pods that nobody knew any more and whose volumes the last pass could not remove.",
  ),
  reconstruct_volume_operations_total: counterOf(
    "ALPHA",
    "Volumes that were found on disk after a start of the agent and taken over.",
  ),
  reconstruct_volume_operations_errors_total: counterOf(
    "ALPHA",
    "Volumes that were found on disk after a start of the agent and could not be taken over.",
  ),
  force_cleaned_failed_volume_operations_total: counterOf(
    "ALPHA",
    "Pods whose volumes were found after a start of the agent, belonged to nobody, and were removed.",
  ),
  force_cleaned_failed_volume_operation_errors_total: counterOf(
    "ALPHA",
    "Orphaned pods whose volumes, found at the start of the agent, could not be removed.",
  ),
  volume_manager_selinux_volumes_admitted_total: gaugeOf(
    "ALPHA",
    "Volumes of pods with one SELinux context.",
    ["volume_plugin", "access_mode"],
  ),
  volume_manager_selinux_volume_context_mismatch_errors_total: gaugeOf(
    "ALPHA",
    "Volumes of access mode ReadWriteOncePod that pods with different SELinux contexts use.",
    ["volume_plugin", "access_mode"],
  ),
  volume_manager_selinux_volume_context_mismatch_warnings_total: gaugeOf(
    "ALPHA",
    "Other volumes that pods of different SELinux contexts use.",
    ["volume_plugin", "access_mode"],
  ),
  volume_manager_selinux_pod_context_mismatch_errors_total: gaugeOf(
    "ALPHA",
    "Pods whose containers use a volume of access mode ReadWriteOncePod with different SELinux contexts.",
    ACCESS,
  ),
  volume_manager_selinux_pod_context_mismatch_warnings_total: gaugeOf(
    "ALPHA",
    "Pods whose containers use any other volume with different SELinux contexts.",
    ACCESS,
  ),
  volume_manager_selinux_container_errors_total: gaugeOf(
    "ALPHA",
    "Containers whose SELinux context is incomplete, with a volume that one pod at a time may use.",
    ACCESS,
  ),
  volume_manager_selinux_container_warnings_total: gaugeOf(
    "ALPHA",
    "Containers whose SELinux context is incomplete, with any other volume.",
    ACCESS,
  ),
  kubelet_volume_metric_collection_duration_seconds: histogramOf(
    "ALPHA",
    "Duration in seconds of measuring volumes, by how they are measured.",
    DEFAULT_SECONDS,
    ["metric_source"],
  ),
  kubelet_volume_stats_capacity_bytes: gaugeOf("ALPHA", "Capacity in bytes of the volume", CLAIM),
  kubelet_volume_stats_available_bytes: gaugeOf(
    "ALPHA",
    "Number of available bytes in the volume",
    CLAIM,
  ),
  kubelet_volume_stats_used_bytes: gaugeOf("ALPHA", "Number of used bytes in the volume", CLAIM),
  kubelet_volume_stats_inodes: gaugeOf("ALPHA", "Maximum number of inodes in the volume", CLAIM),
  kubelet_volume_stats_inodes_free: gaugeOf("ALPHA", "Number of free inodes in the volume", CLAIM),
  kubelet_volume_stats_inodes_used: gaugeOf("ALPHA", "Number of used inodes in the volume", CLAIM),
  kubelet_container_log_filesystem_used_bytes: gaugeOf(
    "ALPHA",
    "Bytes used by the container's logs on the filesystem.",
    ["uid", "namespace", "pod", "container"],
  ),
  kubelet_podcertificate_states: gaugeOf(
    "ALPHA",
    "Gauge vector reporting the number of pod certificate projected volume sources, faceted by signer_name and state.",
    ["signer_name", "state"],
  ),
  plugin_manager_total_plugins: gaugeOf(
    "ALPHA",
    "Plugins of the node: those whose socket is there and those that are registered.",
    ["socket_path", "state"],
  ),
  kubelet_device_plugin_registration_total: counterOf(
    "ALPHA",
    "Cumulative number of device plugin registrations. Broken down by resource name.",
    ["resource_name"],
  ),
  kubelet_device_plugin_alloc_duration_seconds: histogramOf(
    "ALPHA",
    "Duration in seconds to serve a device plugin Allocation request. Broken down by resource name.",
    DEFAULT_SECONDS,
    ["resource_name"],
  ),
  kubelet_container_aligned_compute_resources_count: counterOf(
    "ALPHA",
    "Containers whose resources are within the boundary: one NUMA node, whole cores, one L3 cache.",
    ALIGNED,
  ),
  kubelet_container_aligned_compute_resources_failure_count: counterOf(
    "ALPHA",
    "Containers that should have had their resources within the boundary and could not.",
    ALIGNED,
  ),
  kubelet_memory_manager_pinning_requests_total: counterOf(
    "ALPHA",
    "Containers whose memory was to be on chosen NUMA nodes.",
  ),
  kubelet_memory_manager_pinning_errors_total: counterOf(
    "ALPHA",
    "Containers whose memory was to be on chosen NUMA nodes and could not.",
  ),
  kubelet_cpu_manager_pinning_requests_total: counterOf(
    "ALPHA",
    "Containers that requested CPUs for themselves.",
  ),
  kubelet_cpu_manager_pinning_errors_total: counterOf(
    "ALPHA",
    "Containers that requested CPUs for themselves and could not have them.",
  ),
  kubelet_cpu_manager_shared_pool_size_millicores: gaugeOf(
    "ALPHA",
    "Millicores of the CPUs that containers share, reserved ones left out.",
  ),
  kubelet_cpu_manager_exclusive_cpu_allocation_count: gaugeOf(
    "ALPHA",
    "CPUs that containers have for themselves.",
  ),
  kubelet_cpu_manager_allocation_per_numa: gaugeOf(
    "ALPHA",
    "CPUs that containers have for themselves, by NUMA node.",
    ["numa_node"],
  ),
  kubelet_topology_manager_admission_requests_total: counterOf(
    "ALPHA",
    "Pods or containers whose resources were to be placed on NUMA nodes.",
  ),
  kubelet_topology_manager_admission_errors_total: counterOf(
    "ALPHA",
    "Pods or containers whose resources could not be placed as the policy says.",
  ),
  kubelet_topology_manager_admission_duration_ms: histogramOf(
    "ALPHA",
    "Duration in milliseconds of placing resources on NUMA nodes.",
    exponential(0.05, 2, 15),
  ),
  kubelet_pod_resources_endpoint_requests_total: counterOf(
    "ALPHA",
    "Cumulative number of requests to the PodResource endpoint. Broken down by server api version.",
    SERVER,
  ),
  kubelet_pod_resources_endpoint_requests_list: counterOf(
    "ALPHA",
    "Number of requests to the PodResource List endpoint. Broken down by server api version.",
    SERVER,
  ),
  kubelet_pod_resources_endpoint_requests_get: counterOf(
    "ALPHA",
    "Number of requests to the PodResource Get endpoint. Broken down by server api version.",
    SERVER,
  ),
  kubelet_pod_resources_endpoint_requests_get_allocatable: counterOf(
    "ALPHA",
    "Number of requests to the PodResource GetAllocatableResources endpoint. Broken down by server api version.",
    SERVER,
  ),
  kubelet_pod_resources_endpoint_errors_list: counterOf(
    "ALPHA",
    "Number of requests to the PodResource List endpoint which returned error. Broken down by server api version.",
    SERVER,
  ),
  kubelet_pod_resources_endpoint_errors_get: counterOf(
    "ALPHA",
    "Number of requests to the PodResource Get endpoint which returned error. Broken down by server api version.",
    SERVER,
  ),
  kubelet_pod_resources_endpoint_errors_get_allocatable: counterOf(
    "ALPHA",
    "Number of requests to the PodResource GetAllocatableResources endpoint which returned error. Broken down by server api version.",
    SERVER,
  ),
});

/** Usage as `/metrics/resource` has it, and probes as `/metrics/probes` has them. */
export const USAGE_METRICS = named({
  container_cpu_usage_seconds_total: counterOf(
    "STABLE",
    "Cumulative cpu time consumed by the container in core-seconds",
    CONTAINER,
  ),
  container_memory_working_set_bytes: gaugeOf(
    "STABLE",
    "Current working set of the container in bytes",
    CONTAINER,
  ),
  container_start_time_seconds: gaugeOf(
    "STABLE",
    "Start time of the container since unix epoch in seconds",
    CONTAINER,
  ),
  container_swap_usage_bytes: gaugeOf(
    "ALPHA",
    "Current amount of the container swap usage in bytes. Reported only on non-windows systems",
    CONTAINER,
  ),
  container_swap_limit_bytes: gaugeOf(
    "ALPHA",
    "Current amount of the container swap limit in bytes. Reported only on non-windows systems",
    CONTAINER,
  ),
  pod_cpu_usage_seconds_total: counterOf(
    "STABLE",
    "Cumulative cpu time consumed by the pod in core-seconds",
    POD,
  ),
  pod_memory_working_set_bytes: gaugeOf("STABLE", "Current working set of the pod in bytes", POD),
  pod_swap_usage_bytes: gaugeOf(
    "ALPHA",
    "Current amount of the pod swap usage in bytes. Reported only on non-windows systems",
    POD,
  ),
  node_cpu_usage_seconds_total: counterOf(
    "STABLE",
    "Cumulative cpu time consumed by the node in core-seconds",
  ),
  node_memory_working_set_bytes: gaugeOf("STABLE", "Current working set of the node in bytes"),
  node_swap_usage_bytes: gaugeOf(
    "ALPHA",
    "Current swap usage of the node in bytes. Reported only on non-windows systems",
  ),
  resource_scrape_error: gaugeOf(
    "STABLE",
    "1 if there was an error while getting container metrics, 0 otherwise",
  ),
  scrape_error: {
    ...gaugeOf("ALPHA", "1 if there was an error while getting container metrics, 0 otherwise"),
    deprecatedVersion: "1.29.0",
  },
  prober_probe_total: counterOf(
    "BETA",
    "Cumulative number of a liveness, readiness or startup probe for a container by result.",
    [...PROBE, "pod_uid", "result"],
  ),
  prober_probe_duration_seconds: histogramOf(
    "ALPHA",
    "Duration in seconds for a probe response.",
    DEFAULT_SECONDS,
    PROBE,
  ),
});
