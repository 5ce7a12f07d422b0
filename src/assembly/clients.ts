import {
  type ClientPorts,
  type ClusterClients,
  clientPorts,
  connectCluster,
} from "../node/cluster.ts";
import type { Foundation } from "./foundation.ts";

/** API clients of modules; `cluster` is undefined on a node without a cluster. */
export interface ApiClients extends ClientPorts {
  readonly cluster: ClusterClients | undefined;
}

/** The clients of the API server; nothing is asked of it yet. */
export function assembleClients({
  options,
  hooks,
  outside,
  scope,
  metrics,
  node,
}: Foundation): ApiClients {
  const cluster =
    hooks.cluster &&
    connectCluster(hooks.cluster, options.config, { outside, scope, metrics, node });
  return { cluster, ...clientPorts(cluster, hooks.eventApi) };
}
