import type { Reading } from "../kit/cell.ts";
import type { HealthRegistry } from "../kit/health/health.ts";
import { withDevices } from "../node/capacity.ts";
import { nodePressure } from "../node/eviction.ts";
import { type JoinedCluster, joinCluster } from "../node/join-cluster.ts";
import { measureStartup } from "../node/metrics/startup-metrics.ts";
import type { CertificatePair } from "../subsystems/certificates/certificates.ts";
import type { Subsystems } from "../subsystems/subsystems.ts";
import { assembleCertificates } from "./certificates.ts";
import type { ApiClients } from "./clients.ts";
import type { Foundation } from "./foundation.ts";

/** The node's part in its cluster. */
export interface Cluster extends JoinedCluster {
  /** The certificate of the HTTPS port, when the cluster signs it (`serverTLSBootstrap`). */
  readonly serving: Reading<CertificatePair | undefined>;
}

/** Registers the node in its cluster, where it has one. */
export function assembleCluster(
  base: Foundation,
  api: ApiClients,
  { subsystems, health }: { readonly subsystems: Subsystems; readonly health: HealthRegistry },
): Cluster | undefined {
  const { options, hooks, capacity } = base;
  const { cluster: clients } = api;
  if (!clients || !hooks.cluster) return undefined;
  const { nodeName, config, nodeIps: given = [] } = options;
  measureStartup({
    metrics: base.metrics,
    clock: base.outside.clock,
    startedAt: base.startedAt,
    procStat: base.outside.host.readKernel("/proc/stat"),
    node: base.node,
  });
  const { csi, devices } = subsystems;
  const joined = joinCluster(
    { nodeName, config, cluster: hooks.cluster, given },
    {
      ...base,
      ...subsystems,
      clients,
      health,
      amounts: () => withDevices(capacity, devices.capacity.get()),
      pressure: () => nodePressure(base.pressure.get()),
      volumesInUse: () => csi.volumesInUse(),
      wakeOn: [devices.capacity, base.pressure, base.shuttingDown, csi.volumes.inUseChanges],
    },
  );
  return { ...joined, serving: assembleCertificates(base, api) };
}
