import type { Node } from "../api/generated/types.ts";
import { declaredFeatures } from "../config/declared-features.ts";
import { resolveGates } from "../config/feature-gates.ts";
import type { KubeletConfig } from "../config/kubelet-config.ts";
import { Cell, type Reading } from "../kit/cell.ts";
import type { HealthRegistry } from "../kit/health.ts";
import type { MetricsRegistry } from "../kit/metrics.ts";
import type { TaskScope } from "../kit/scope.ts";
import type { VersionResponse } from "../outside/cri/cri.ts";
import type { HostFacts } from "../outside/host/host.ts";
import type { Outside } from "../outside/outside.ts";
import { ClusterPods } from "../pipeline/cluster/cluster.ts";
import {
  type CertificatePair,
  CertificateStore,
  isCurrent,
  keepCertificate,
  SERVING_STORE,
  servingRotation,
} from "../subsystems/certificates/certificates.ts";
import type { Events } from "../subsystems/events/events.ts";
import type { Images } from "../subsystems/images/images.ts";
import type { Runtime } from "../subsystems/runtime/runtime.ts";
import type { NodeCapacity } from "./capacity.ts";
import type { ClusterClients, ClusterOptions } from "./cluster.ts";
import type { NodePressure } from "./heartbeat/derive-status.ts";
import { Heartbeat } from "./heartbeat/heartbeat.ts";
import { nodeLook } from "./heartbeat/look.ts";

/** How the node joins. */
export interface JoinOptions {
  readonly nodeName: string;
  readonly config: KubeletConfig;
  readonly cluster: ClusterOptions;
  /** Addresses the user gave; undefined: found on the machine. */
  readonly givenIps: readonly string[] | undefined;
  /** Folder of certificates (`--cert-dir`); without it none is asked for. */
  readonly certFolder: string | undefined;
}

/** What joining stands on. */
export interface JoinDeps {
  readonly outside: Outside;
  readonly scope: TaskScope;
  readonly metrics: MetricsRegistry;
  readonly clients: ClusterClients;
  readonly facts: HostFacts;
  readonly runtimeVersion: VersionResponse;
  readonly runtime: Runtime;
  readonly images: Pick<Images, "listing">;
  readonly events: Events;
  readonly hostIps: () => readonly string[];
  readonly amounts: () => NodeCapacity;
  readonly pressure: () => NodePressure;
  /** Whether the agent itself is well; what joining adds to it is added there. */
  readonly health: HealthRegistry;
  /** Facts of the node whose change is to be shown at once. */
  readonly wakeOn: readonly Reading<unknown>[];
}

/** The node's part in its cluster. */
export interface JoinedCluster {
  readonly pods: ClusterPods;
  /** The node's own object; undefined as long as the API has none. */
  readonly node: Reading<Node | undefined>;
  readonly clients: ClusterClients;
  /** The certificate of the HTTPS port, when the cluster signs it (`serverTLSBootstrap`). */
  readonly serving: Reading<CertificatePair | undefined>;
}

/** Release of Kubernetes whose kubelet is followed, for embedders that say nothing else. */
const KUBELET_VERSION = "v1.36.2+nodelet";

/** Registers the node and keeps it alive in the API; pods follow when the pipeline is joined. */
export function joinCluster(options: JoinOptions, deps: JoinDeps): JoinedCluster {
  const { outside, scope, metrics, clients } = deps;
  const { clock, random, log } = outside;
  const heartbeat = createHeartbeat(options, deps);
  heartbeat.start();
  const { client } = clients;
  const { reachable } = client.transport;
  const node = heartbeat.node;
  const pods = new ClusterPods(options.nodeName, {
    ...{ client, reachable, node, clock, random, log, metrics, scope },
  });
  deps.health.add(heartbeat.leaseCheck, pods.sourceCheck);
  return { pods, node, clients, serving: startServing(options, node, deps) };
}

/** Lets the cluster sign the certificate of the HTTPS port, where that is wanted. */
function startServing(
  { config, nodeName, certFolder }: JoinOptions,
  node: Reading<Node | undefined>,
  { outside, scope, clients }: JoinDeps,
): Reading<CertificatePair | undefined> {
  const serving = new Cell<CertificatePair | undefined>(undefined);
  if (!config.serverTLSBootstrap || certFolder === undefined) return serving;
  const { clock, random, host } = outside;
  const log = outside.log.child("certificates");
  const store = new CertificateStore(certFolder, SERVING_STORE, { clock, log, files: host.files });
  scope.spawn("serving certificate", "restart", async (signal) => {
    const kept = await store.current();
    const first = kept && isCurrent(kept, clock.wall()) ? kept : undefined;
    if (first) serving.set(first);
    const take = (pair: CertificatePair) => serving.set(pair);
    const deps = { client: clients.client, clock, random, log, store, take, wakeOn: [node] };
    const rotation = servingRotation(nodeName, () => node.get());
    await keepCertificate(rotation, deps, { first, signal });
  });
  return serving;
}

function createHeartbeat(options: JoinOptions, deps: JoinDeps): Heartbeat {
  const { config, nodeName, cluster, givenIps } = options;
  const { outside, scope, facts, runtimeVersion, runtime, events, clients } = deps;
  const { clock, random } = outside;
  const externalCloud = cluster.externalCloud ?? false;
  const features = declaredFeatures(resolveGates(config.featureGates).gates);
  const look = nodeLook(config.nodeStatusMaxImages, {
    ...{ clock, images: deps.images.listing, watch: runtime.watch },
    amounts: deps.amounts,
    ips: deps.hostIps,
    pressure: deps.pressure,
    health: deps.health.problems,
    volumesInUse: () => [],
  });
  return new Heartbeat(
    {
      identity: {
        nodeName,
        // What the node calls itself goes before what the machine is called (--hostname-override).
        facts: { ...facts, hostname: nodeName },
        kubeletVersion: cluster.kubeletVersion ?? KUBELET_VERSION,
        runtimeVersion: `${runtimeVersion.runtimeName}://${runtimeVersion.runtimeVersion}`,
        port: config.enableServer ? config.port : 0,
        cloudAddresses: externalCloud && givenIps === undefined,
        ...(features ? { declaredFeatures: features } : {}),
      },
      registration: config.registerNode
        ? {
            labels: cluster.nodeLabels ?? {},
            taints: config.registerWithTaints,
            schedulable: cluster.schedulable ?? true,
            providerId: config.providerID,
            externalCloud,
            nodeIps: givenIps ?? [],
            controllerAttachesVolumes: config.enableControllerAttachDetach,
          }
        : undefined,
      updateMs: config.nodeStatusUpdateFrequency,
      reportMs: config.nodeStatusReportFrequency,
      leaseSeconds: config.nodeLeaseDurationSeconds,
    },
    {
      ...{ clock, random, scope, look },
      log: outside.log.child("node"),
      client: clients.heartbeat,
      reachable: clients.heartbeat.transport.reachable,
      wakeOn: [runtime.watch.health, deps.health.problems, ...deps.wakeOn],
      say: ({ type, reason, message }) => events.ofNode({ type, reason, message }),
    },
  );
}
