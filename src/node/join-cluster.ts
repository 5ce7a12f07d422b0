import type { Node } from "../api/generated/types.ts";
import { declaredFeatures } from "../config/gates/declared-features.ts";
import { type FeatureGates, gatesInForce } from "../config/gates/feature-gates.ts";
import type { KubeletConfig } from "../config/kubelet-config.ts";
import { releaseOf, versionOfRelease } from "../config/release.ts";
import type { Cell, Reading } from "../kit/cell.ts";
import type { HealthRegistry } from "../kit/health/health.ts";
import type { MetricsRegistry } from "../kit/metrics.ts";
import type { TaskScope } from "../kit/scope.ts";
import type { VersionResponse } from "../outside/cri/cri.ts";
import type { HostFacts } from "../outside/host/host.ts";
import type { Outside } from "../outside/outside.ts";
import { type ApiPods, followApiPods } from "../pipeline/cluster/cluster.ts";
import type { Events } from "../subsystems/events/events.ts";
import type { Images } from "../subsystems/images/images.ts";
import type { Runtime } from "../subsystems/runtime/runtime.ts";
import type { NodeAddresses } from "./addresses/addresses.ts";
import { specifiedIps } from "./addresses/choose-addresses.ts";
import type { NodeCapacity } from "./capacity.ts";
import type { ClusterClients, ClusterOptions } from "./cluster.ts";
import type { NodeAddressing, NodeIdentity, NodePressure } from "./heartbeat/derive-status.ts";
import { Heartbeat } from "./heartbeat/heartbeat.ts";
import type { LeaseOutcome } from "./heartbeat/lease.ts";
import { snapshotReader } from "./heartbeat/read-snapshot.ts";

/** How the node joins. */
interface JoinOptions {
  readonly nodeName: string;
  readonly config: KubeletConfig;
  readonly cluster: ClusterOptions;
  /** `--node-ip`, canonical; empty when unset. */
  readonly given: readonly string[];
}

interface JoinDeps {
  readonly outside: Outside;
  readonly scope: TaskScope;
  readonly metrics: MetricsRegistry;
  readonly clients: ClusterClients;
  readonly facts: HostFacts;
  readonly runtimeVersion: VersionResponse;
  readonly runtime: Runtime;
  readonly images: Pick<Images, "listing">;
  readonly events: Events;
  readonly addresses: NodeAddresses;
  readonly amounts: () => NodeCapacity;
  readonly pressure: () => NodePressure;
  /** Volumes that a controller may not detach. */
  readonly volumesInUse: () => readonly string[];
  /** Whether the machine is going down. */
  readonly shuttingDown: Reading<boolean>;
  /** Whether the agent itself is well; what joining adds to it is added there. */
  readonly health: HealthRegistry;
  /** Facts of the node whose change is to be shown at once. */
  readonly wakeOn: readonly Reading<unknown>[];
  /** The node's own object; undefined as long as the API has none. The heartbeat is its writer. */
  readonly node: Cell<Node | undefined>;
}

/** The node's part in its cluster. */
export interface JoinedCluster {
  /** Desired state of this node in the API. */
  readonly pods: ApiPods;
  readonly clients: ClusterClients;
  /** How the last attempt to renew the node's lease ended. */
  readonly leaseOutcome: () => LeaseOutcome;
}

/** Registers the node and keeps it alive in the API. */
export function joinCluster(options: JoinOptions, deps: JoinDeps): JoinedCluster {
  const { outside, clients, node } = deps;
  const heartbeat = createHeartbeat(options, deps);
  heartbeat.start();
  const pods = followApiPods(options.nodeName, { ...outside, client: clients.client, node });
  deps.health.add(heartbeat.leaseCheck, pods.healthCheck);
  return { pods, clients, leaseOutcome: () => heartbeat.leaseOutcome };
}

/** Source of the node's addresses (nodestatus/setters.go NodeAddress). */
function addressingOf(externalCloud: boolean, given: readonly string[]): NodeAddressing {
  if (!externalCloud) return { kind: "machine" };
  return given.length > 0 ? { kind: "cloud", provided: given } : { kind: "cloud" };
}

/** What the node shows of the agent's user namespace. */
function userNamespaceOf(
  gates: FeatureGates,
  { inUserNamespace }: HostFacts,
): Pick<NodeIdentity, "runningInUserNamespace"> {
  if (!gates.isEnabled("KubeletInUserNamespace")) return {};
  return { runningInUserNamespace: inUserNamespace };
}

function createHeartbeat(options: JoinOptions, deps: JoinDeps): Heartbeat {
  const { config, nodeName, cluster, given } = options;
  const { outside, scope, facts, runtimeVersion, runtime, events, clients } = deps;
  const { clock, random } = outside;
  const externalCloud = cluster.externalCloud ?? false;
  const gates = gatesInForce(config);
  const readSnapshot = snapshotReader(config.nodeStatusMaxImages, {
    clock,
    images: deps.images.listing,
    watch: runtime.watch,
    amounts: deps.amounts,
    ips: () => deps.addresses.settled(),
    pressure: deps.pressure,
    declared: (able) => declaredFeatures(gates, able),
    health: deps.health.problems,
    shuttingDown: deps.shuttingDown,
    volumesInUse: deps.volumesInUse,
  });
  return new Heartbeat(
    {
      identity: {
        nodeName,
        // The node's name takes precedence over the hostname (--hostname-override).
        facts: { ...facts, hostname: nodeName },
        kubeletVersion:
          cluster.kubeletVersion ?? `${versionOfRelease(releaseOf(config.compat))}+nodelet`,
        runtimeVersion: `${runtimeVersion.runtimeName}://${runtimeVersion.runtimeVersion}`,
        port: config.enableServer ? config.port : 0,
        addressing: addressingOf(externalCloud, specifiedIps(given)),
        ...userNamespaceOf(gates, facts),
      },
      registration: config.registerNode
        ? {
            labels: cluster.nodeLabels ?? {},
            taints: config.registerWithTaints,
            schedulable: cluster.schedulable ?? true,
            providerId: config.providerID,
            externalCloud,
            controllerAttachesVolumes: config.enableControllerAttachDetach,
          }
        : undefined,
      updateMs: config.nodeStatusUpdateFrequency,
      reportMs: config.nodeStatusReportFrequency,
      leaseSeconds: config.nodeLeaseDurationSeconds,
    },
    {
      clock,
      random,
      scope,
      readSnapshot,
      log: outside.log.child("node"),
      client: clients.heartbeat,
      reachable: clients.heartbeat.transport.reachable,
      node: deps.node,
      wakeOn: [runtime.watch.health, deps.health.problems, deps.addresses.ips, ...deps.wakeOn],
      events,
    },
  );
}
