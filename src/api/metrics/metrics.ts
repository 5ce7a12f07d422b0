// pure
/** The metrics that Kubernetes documents for a kubelet: those that are served, and why the others are not. */
import { AGENT_METRICS } from "./agent-metrics.ts";
import { ALLOCATION_METRICS } from "./allocation-metrics.ts";
import { CLAIM_METRICS } from "./claim-metrics.ts";
import { NODE_METRICS, USAGE_METRICS } from "./node-metrics.ts";
import { WORKLOAD_METRICS } from "./workload-metrics.ts";

/** Every documented metric that is served, by name: its type, stability, labels and buckets. */
export const METRICS = {
  ...AGENT_METRICS,
  ...WORKLOAD_METRICS,
  ...NODE_METRICS,
  ...USAGE_METRICS,
  ...CLAIM_METRICS,
  ...ALLOCATION_METRICS,
} as const;

const NO_ELECTION = "nothing of a node is elected";
const WINDOWS = "containers of Windows only";

/** Documented metrics that are not served, with the reason. */
export const UNSERVED_METRICS: Readonly<Record<string, string>> = {
  csi_node_storage_health_status: "the gate CSIVolumeHealth has no effect",
  kubelet_started_host_process_containers_errors_total: WINDOWS,
  kubelet_started_host_process_containers_total: WINDOWS,
  leader_election_master_status: NO_ELECTION,
  leader_election_slowpath_total: NO_ELECTION,
  rest_client_exec_plugin_policy_call_total: "a kubelet's kubeconfig has no policy for programs",
  running_managed_controllers: "no controllers run in a kubelet",
};
