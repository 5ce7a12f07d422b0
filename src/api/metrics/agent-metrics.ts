// pure
import { counterOf, DEFAULT_SECONDS, gaugeOf, histogramOf, named } from "./define.ts";

const DAY = 86_400;
const HTTP = ["method", "path", "server_type", "long_running"] as const;
const REQUEST_SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60] as const;
const REQUEST_BYTES = [
  64, 256, 512, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216,
] as const;
const ROTATION_SECONDS = [
  60,
  3600,
  14_400,
  DAY,
  604_800,
  2_592_000,
  7_776_000,
  15_552_000,
  31_104_000,
  124_416_000,
] as const;
/** As Go computes them, with its rounding. */
const QUEUE_SECONDS = [
  1e-8, 1e-7, 1e-6, 9.999999999999999e-6, 9.999999999999999e-5, 0.001, 0.01, 0.1, 1, 10,
] as const;
const QUEUE = ["name"] as const;
const RESOURCE = ["name", "group", "version", "resource"] as const;

/** Metrics of the agent itself, its server and its requests to the API server. */
export const AGENT_METRICS = named({
  disabled_metrics_total: counterOf("BETA", "Metrics that are switched off."),
  hidden_metrics_total: counterOf("BETA", "Metrics that are hidden since they are deprecated."),
  registered_metrics_total: counterOf(
    "BETA",
    "Registered metrics, by stability and by the release that has deprecated them.",
    ["stability_level", "deprecated_version"],
  ),
  kubernetes_build_info: gaugeOf(
    "BETA",
    "Version and platform of the Kubernetes release that is followed; go_version is the JavaScript runtime's. Always 1.",
    [
      "major",
      "minor",
      "git_version",
      "git_commit",
      "git_tree_state",
      "build_date",
      "go_version",
      "compiler",
      "platform",
    ],
  ),
  kubernetes_feature_enabled: gaugeOf("BETA", "Whether a feature gate is enabled.", [
    "name",
    "stage",
  ]),
  version_info: gaugeOf(
    "ALPHA",
    "Version of the program, and the versions of Kubernetes that it follows and is compatible with. Always 1.",
    ["component", "binary", "emulation", "min_compat"],
  ),
  kubernetes_healthcheck: gaugeOf("STABLE", "Result of the last health check, 1 for success.", [
    "name",
    "type",
  ]),
  kubernetes_healthchecks_total: counterOf("STABLE", "Results of health checks.", [
    "name",
    "type",
    "status",
  ]),
  kubelet_node_name: gaugeOf("ALPHA", "The node's name. The count is always 1.", ["node"]),
  kubelet_metrics_provider: gaugeOf("ALPHA", "What measures containers. The value is always 1.", [
    "provider",
  ]),
  kubelet_http_requests_total: counterOf(
    "ALPHA",
    "Number of the http requests received since the server started",
    HTTP,
  ),
  kubelet_http_requests_duration_seconds: histogramOf(
    "ALPHA",
    "Duration in seconds to serve http requests",
    DEFAULT_SECONDS,
    HTTP,
  ),
  kubelet_http_inflight_requests: gaugeOf("ALPHA", "Number of the inflight http requests", HTTP),
  kubelet_node_startup_duration_seconds: gaugeOf(
    "ALPHA",
    "Duration in seconds of the whole start of the node: from the start of the machine until the node is ready.",
  ),
  kubelet_node_startup_pre_kubelet_duration_seconds: gaugeOf(
    "ALPHA",
    "Duration in seconds from the start of the machine to the start of the agent.",
  ),
  kubelet_node_startup_pre_registration_duration_seconds: gaugeOf(
    "ALPHA",
    "Duration in seconds from the start of the agent to its first attempt to register the node.",
  ),
  kubelet_node_startup_registration_duration_seconds: gaugeOf(
    "ALPHA",
    "Duration in seconds of the node's registration.",
  ),
  kubelet_node_startup_post_registration_duration_seconds: gaugeOf(
    "ALPHA",
    "Duration in seconds from the node's registration until it is ready.",
  ),
  kubelet_certificate_manager_client_ttl_seconds: gaugeOf(
    "ALPHA",
    "Seconds until the client certificate expires; negative once it has. +Inf where there is none.",
  ),
  kubelet_certificate_manager_client_expiration_renew_errors: counterOf(
    "ALPHA",
    "Renewals of the client certificate that failed.",
  ),
  kubelet_certificate_manager_server_ttl_seconds: gaugeOf(
    "ALPHA",
    "Seconds until the serving certificate expires; negative once it has. +Inf where there is none.",
  ),
  kubelet_certificate_manager_server_rotation_seconds: histogramOf(
    "ALPHA",
    "Seconds that a serving certificate was used before it was replaced.",
    ROTATION_SECONDS,
  ),
  kubelet_server_expiration_renew_errors: counterOf(
    "ALPHA",
    "Renewals of the serving certificate that failed.",
  ),
  rest_client_requests_total: counterOf(
    "ALPHA",
    "Requests to the API server, by status code, method and host.",
    ["code", "method", "host"],
  ),
  rest_client_request_duration_seconds: histogramOf(
    "ALPHA",
    "Duration in seconds of requests to the API server, by verb and host.",
    REQUEST_SECONDS,
    ["verb", "host"],
  ),
  rest_client_request_size_bytes: histogramOf(
    "ALPHA",
    "Size in bytes of requests to the API server, by verb and host.",
    REQUEST_BYTES,
    ["verb", "host"],
  ),
  rest_client_response_size_bytes: histogramOf(
    "ALPHA",
    "Size in bytes of the API server's responses, by verb and host.",
    REQUEST_BYTES,
    ["verb", "host"],
  ),
  rest_client_request_retries_total: counterOf(
    "ALPHA",
    "Repeated requests to the API server, by status code, verb and host.",
    ["code", "verb", "host"],
  ),
  rest_client_rate_limiter_duration_seconds: histogramOf(
    "ALPHA",
    "Duration in seconds that requests to the API server waited for the client's own rate limit.",
    REQUEST_SECONDS,
    ["verb", "host"],
  ),
  rest_client_dns_resolution_duration_seconds: histogramOf(
    "ALPHA",
    "Duration in seconds of name resolution for connections to the API server.",
    [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30],
    ["host"],
  ),
  rest_client_transport_cache_entries: gaugeOf("ALPHA", "Open transports to API servers."),
  rest_client_transport_create_calls_total: counterOf(
    "ALPHA",
    "Calls for a transport to an API server, by whether one was made.",
    ["result"],
  ),
  rest_client_exec_plugin_call_total: counterOf(
    "ALPHA",
    "Runs of the kubeconfig's credential program, by exit code and kind of outcome.",
    ["code", "call_status"],
  ),
  rest_client_exec_plugin_ttl_seconds: gaugeOf(
    "ALPHA",
    "Seconds until the soonest of the credential program's certificates expires. +Inf where there is none.",
  ),
  rest_client_exec_plugin_certificate_rotation_age: histogramOf(
    "ALPHA",
    "Seconds that a certificate of the credential program was used before it was replaced.",
    [
      600,
      1800,
      3600,
      14_400,
      DAY,
      604_800,
      2_592_000,
      7_776_000,
      15_552_000,
      31_104_000,
      124_416_000,
    ],
  ),
  informer_queued_items: gaugeOf(
    "ALPHA",
    "Objects received from a watch or a list that are not handled yet.",
    RESOURCE,
  ),
  informer_processing_latency_seconds: histogramOf(
    "ALPHA",
    "Duration in seconds of handling one notification of a watch.",
    [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    RESOURCE,
  ),
  workqueue_depth: gaugeOf("BETA", "Items that wait in the queue.", QUEUE),
  workqueue_adds_total: counterOf("BETA", "Items that were put into the queue.", QUEUE),
  workqueue_retries_total: counterOf("BETA", "Items that were put into the queue again.", QUEUE),
  workqueue_queue_duration_seconds: histogramOf(
    "BETA",
    "Duration in seconds that an item waits before it is processed.",
    QUEUE_SECONDS,
    QUEUE,
  ),
  workqueue_work_duration_seconds: histogramOf(
    "BETA",
    "Duration in seconds of processing an item.",
    QUEUE_SECONDS,
    QUEUE,
  ),
  workqueue_unfinished_work_seconds: gaugeOf(
    "BETA",
    "Seconds of work on items that are not finished yet.",
    QUEUE,
  ),
  workqueue_longest_running_processor_seconds: gaugeOf(
    "BETA",
    "Seconds that the item has been processed for that takes longest.",
    QUEUE,
  ),
});
