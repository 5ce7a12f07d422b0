// What the kubelet rules of kubernetes-mixin ask, as data: each alert, recording rule or panel with the series that its
// expression needs. Written from its alerts/kubelet, alerts/storage_alerts, rules/kubelet and dashboards/kubelet.

/** A series that an expression asks for; each value is a pattern for the whole label. */
export interface QueriedSeries {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
}

const series = (name: string, labels?: QueriedSeries["labels"]): QueriedSeries =>
  labels ? { name, labels } : { name };

const OPERATION = { operation_type: ".+" };
const CLAIM = { namespace: ".+", persistentvolumeclaim: ".+" };

/** Expressions of `/metrics`, by their name. */
export const MIXIN: Readonly<Record<string, readonly QueriedSeries[]>> = {
  "rule node_quantile:kubelet_pleg_relist_duration_seconds:histogram_quantile": [
    series("kubelet_pleg_relist_duration_seconds_bucket", { le: ".+" }),
    series("kubelet_node_name", { node: ".+" }),
  ],
  "alert KubeletTooManyPods": [
    series("kubelet_running_pods"),
    series("kubelet_node_name", { node: ".+" }),
  ],
  "alert KubeletPodStartUpLatencyHigh": [
    series("kubelet_pod_worker_duration_seconds_bucket", { ...OPERATION, le: ".+" }),
    series("kubelet_node_name", { node: ".+" }),
  ],
  "alert KubeletClientCertificateExpiration": [
    series("kubelet_certificate_manager_client_ttl_seconds"),
  ],
  "alert KubeletServerCertificateExpiration": [
    series("kubelet_certificate_manager_server_ttl_seconds"),
  ],
  "alert KubeletClientCertificateRenewalErrors": [
    series("kubelet_certificate_manager_client_expiration_renew_errors"),
  ],
  "alert KubeletServerCertificateRenewalErrors": [series("kubelet_server_expiration_renew_errors")],
  "panel Running Kubelets": [series("kubelet_node_name", { node: ".+" })],
  "panel Running Pods": [series("kubelet_running_pods")],
  "panel Running Containers": [
    series("kubelet_running_containers", { container_state: "running" }),
  ],
  "panel Actual Volume Count": [
    series("volume_manager_total_volumes", { state: "actual_state_of_world", plugin_name: ".+" }),
  ],
  "panel Desired Volume Count": [
    series("volume_manager_total_volumes", { state: "desired_state_of_world", plugin_name: ".+" }),
  ],
  "panel Operation Rate": [series("kubelet_runtime_operations_total", OPERATION)],
  "panel Operation Duration 99th quantile": [
    series("kubelet_runtime_operations_duration_seconds_bucket", { ...OPERATION, le: ".+" }),
  ],
  "panel Pod Start Rate": [
    series("kubelet_pod_start_duration_seconds_count"),
    series("kubelet_pod_worker_duration_seconds_count", OPERATION),
  ],
  "panel Pod Start Duration": [
    series("kubelet_pod_start_duration_seconds_bucket", { le: ".+" }),
    series("kubelet_pod_worker_duration_seconds_bucket", { ...OPERATION, le: ".+" }),
  ],
  "panel Storage Operation Rate": [
    series("storage_operation_duration_seconds_count", {
      operation_name: ".+",
      volume_plugin: ".+",
    }),
  ],
  "panel Storage Operation Duration 99th quantile": [
    series("storage_operation_duration_seconds_bucket", { operation_name: ".+", le: ".+" }),
  ],
  "panel Cgroup manager operation rate": [
    series("kubelet_cgroup_manager_duration_seconds_count", OPERATION),
  ],
  "panel Cgroup manager 99th quantile": [
    series("kubelet_cgroup_manager_duration_seconds_bucket", { ...OPERATION, le: ".+" }),
  ],
  "panel PLEG relist rate": [series("kubelet_pleg_relist_duration_seconds_count")],
  "panel PLEG relist interval": [
    series("kubelet_pleg_relist_interval_seconds_bucket", { le: ".+" }),
  ],
  "panel PLEG relist duration": [
    series("kubelet_pleg_relist_duration_seconds_bucket", { le: ".+" }),
  ],
  "panel RPC rate": [
    series("rest_client_requests_total", { code: "2..", method: ".+", host: ".+" }),
  ],
  "panel Request duration 99th quantile": [
    series("rest_client_request_duration_seconds_bucket", { verb: ".+", le: ".+" }),
  ],
  "panel Memory": [series("process_resident_memory_bytes")],
  "panel CPU usage": [series("process_cpu_seconds_total")],
  "panel Goroutines": [series("go_goroutines")],
};

/** Expressions about claims; there is nothing to find while no pod has one. */
export const MIXIN_CLAIMS: Readonly<Record<string, readonly QueriedSeries[]>> = {
  "alert KubePersistentVolumeFillingUp": [
    series("kubelet_volume_stats_available_bytes", CLAIM),
    series("kubelet_volume_stats_capacity_bytes", CLAIM),
    series("kubelet_volume_stats_used_bytes", CLAIM),
  ],
  "alert KubePersistentVolumeInodesFillingUp": [
    series("kubelet_volume_stats_inodes_free", CLAIM),
    series("kubelet_volume_stats_inodes", CLAIM),
    series("kubelet_volume_stats_inodes_used", CLAIM),
  ],
};

const CONTAINER = { container: ".+", image: ".+", namespace: ".+", pod: ".+" };
const INTERFACE = { interface: ".+", namespace: ".+", pod: ".+" };
const DEVICE = { ...CONTAINER, device: ".+" };

/** Expressions of `/metrics/cadvisor`, from rules/apps and the dashboards of compute and network resources. */
export const MIXIN_CADVISOR: Readonly<Record<string, readonly QueriedSeries[]>> = {
  "rule node_namespace_pod_container:container_cpu_usage_seconds_total:sum_rate5m": [
    series("container_cpu_usage_seconds_total", CONTAINER),
  ],
  "rule node_namespace_pod_container:container_memory_working_set_bytes": [
    series("container_memory_working_set_bytes", CONTAINER),
  ],
  "rule node_namespace_pod_container:container_memory_rss": [
    series("container_memory_rss", CONTAINER),
  ],
  "rule node_namespace_pod_container:container_memory_cache": [
    series("container_memory_cache", CONTAINER),
  ],
  "rule node_namespace_pod_container:container_memory_swap": [
    series("container_memory_swap", CONTAINER),
  ],
  "alert CPUThrottlingHigh": [
    series("container_cpu_cfs_throttled_periods_total", CONTAINER),
    series("container_cpu_cfs_periods_total", CONTAINER),
  ],
  "panel Receive Bandwidth": [series("container_network_receive_bytes_total", INTERFACE)],
  "panel Transmit Bandwidth": [series("container_network_transmit_bytes_total", INTERFACE)],
  "panel Rate of Received Packets": [series("container_network_receive_packets_total", INTERFACE)],
  "panel Rate of Transmitted Packets": [
    series("container_network_transmit_packets_total", INTERFACE),
  ],
  "panel Rate of Received Packets Dropped": [
    series("container_network_receive_packets_dropped_total", INTERFACE),
  ],
  "panel Rate of Transmitted Packets Dropped": [
    series("container_network_transmit_packets_dropped_total", INTERFACE),
  ],
  "panel IOPS (Reads+Writes)": [
    series("container_fs_reads_total", DEVICE),
    series("container_fs_writes_total", DEVICE),
  ],
  "panel ThroughPut (Read+Write)": [
    series("container_fs_reads_bytes_total", DEVICE),
    series("container_fs_writes_bytes_total", DEVICE),
  ],
};
