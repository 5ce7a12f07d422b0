/**
 * The clients of a node in a cluster. In: a way to the API server, made by whoever knows where it is and
 * as whom to speak. Out: what the modules need of the API. Invariants: heartbeats never wait for pods'
 * requests; events keep their own rate.
 */
import type { Node } from "../api/generated/types.ts";
import type { KubeletConfig } from "../config/kubelet-config.ts";
import { Cell, type Reading } from "../kit/cell.ts";
import type { MonotonicMs } from "../kit/clock.ts";
import type { MetricsRegistry } from "../kit/metrics.ts";
import type { TaskScope } from "../kit/scope.ts";
import {
  type ApiTransport,
  type CallObserver,
  followRuntimeClasses,
  followServices,
  KubeClient,
  NO_ANSWER,
  type ObjectSource,
  type ObjectSourceDeps,
  PolledObjects,
  RequestedTokens,
  type RuntimeClassList,
  type ServiceAccountTokens,
  type ServiceList,
  WatchedObjects,
} from "../outside/kube/kube.ts";
import type { Outside } from "../outside/outside.ts";
import type { NodeAttributes } from "../pipeline/admission/rules.ts";
import { type EventApi, kubeEventApi } from "../subsystems/events/events.ts";
import type { RenewedCertificate } from "./metrics/certificate-metrics.ts";
import { exposeApiActivity, restMetrics } from "./metrics/rest-metrics.ts";

/** A cluster to be a node of. */
export interface ClusterOptions {
  readonly transport: ApiTransport;
  /** A connection of its own for signs of life; default the same. */
  readonly heartbeatTransport?: ApiTransport;
  /** `--node-labels`. */
  readonly nodeLabels?: Readonly<Record<string, string>>;
  /** `--register-schedulable`; default true. */
  readonly schedulable?: boolean;
  /** `--cloud-provider=external`. */
  readonly externalCloud?: boolean;
  /** Renews the credentials of the transports; runs as long as the agent. */
  readonly keepFresh?: (signal: AbortSignal) => Promise<void>;
  /** The certificate that the transports show, where there is one. */
  readonly clientCertificate?: RenewedCertificate;
  /** Shown as `status.nodeInfo.kubeletVersion`; default the version of Kubernetes that is followed. */
  readonly kubeletVersion?: string;
}

/** what the modules need of the API. */
export interface ClusterClients {
  readonly client: KubeClient;
  readonly heartbeat: KubeClient;
  /** For questions about callers of the HTTPS port and from the command line, which must not hold up pods. */
  readonly reviews: KubeClient;
  readonly events: EventApi;
  readonly objects: ObjectSource;
  readonly tokens: ServiceAccountTokens;
  readonly services: ServiceList;
  readonly runtimeClasses: RuntimeClassList;
  /** When the server last answered a request that is no heartbeat, with whatever status. */
  readonly answeredAt: Reading<MonotonicMs | undefined>;
}

interface ClusterDeps {
  readonly outside: Outside;
  readonly scope: TaskScope;
  readonly metrics: MetricsRegistry;
  /** The node's own object, which says how long answers about others count. */
  readonly node: Reading<Node | undefined>;
}

/** Clients of the HTTPS port wait for the answer (webhook: 10 s for tokens). */
const REVIEW_TIMEOUT_MS = 10_000;

/** Makes the clients; nothing is asked of the server yet. */
export function connectCluster(
  { transport, heartbeatTransport = transport, keepFresh }: ClusterOptions,
  config: KubeletConfig,
  { outside, scope, metrics, node }: ClusterDeps,
): ClusterClients {
  const { clock, random } = outside;
  const log = outside.log.child("kube");
  const measure = restMetrics({ metrics, clock }, () => transport.host);
  const answeredAt = new Cell<MonotonicMs | undefined>(undefined);
  const observer: CallObserver = {
    ...measure,
    ended: (call) => {
      if (call.code !== NO_ANSWER) answeredAt.set(clock.monotonic());
      measure.ended(call);
    },
  };
  exposeApiActivity({ metrics, clock }, outside.kube?.activity);
  if (keepFresh) scope.spawn("credentials", "restart", keepFresh);
  const limit = { qps: config.kubeAPIQPS, burst: config.kubeAPIBurst };
  const client = new KubeClient({ limit }, { transport, clock, log, observer });
  const unlimited = new KubeClient({}, { transport, clock, log, observer });
  const timeoutMs = Math.min(
    config.nodeStatusUpdateFrequency,
    config.nodeLeaseDurationSeconds * 1000,
  );
  const heartbeat = new KubeClient(
    { timeoutMs },
    { transport: heartbeatTransport, clock, log, observer: measure },
  );
  const reviews = new KubeClient(
    { limit, timeoutMs: REVIEW_TIMEOUT_MS },
    { transport, clock, log, observer },
  );
  return {
    client,
    heartbeat,
    reviews,
    events: kubeEventApi(unlimited),
    objects: objectsBy(
      config.configMapAndSecretChangeDetectionStrategy,
      { client, clock, random, log, scope },
      node,
    ),
    tokens: new RequestedTokens({ client, clock, random, log }),
    services: followServices({ client, clock, random, log, scope }),
    runtimeClasses: followRuntimeClasses({ client, clock, random, log, scope }),
    answeredAt,
  };
}

/** Without watches objects are polled as often as the Go kubelet syncs pods. */
const POLL_MS = 60_000;

/** Objects, followed as `configMapAndSecretChangeDetectionStrategy` says. */
function objectsBy(
  strategy: string,
  deps: ObjectSourceDeps,
  node: Reading<Node | undefined>,
): ObjectSource {
  if (strategy === "Watch") return new WatchedObjects(deps);
  const freshMs = strategy === "Cache" ? () => objectTtlMs(node.get()) ?? POLL_MS : () => 0;
  return new PolledObjects({ freshMs, everyMs: POLL_MS }, deps);
}

/** How long answers count by the setting of the cluster: the larger it is the longer. Absent when it does not say. */
function objectTtlMs(node: Node | undefined): number | undefined {
  const text = node?.metadata?.annotations?.["node.alpha.kubernetes.io/ttl"] ?? "";
  return /^[+-]?\d{1,9}$/.test(text) ? Number(text) * 1000 : undefined;
}

/** API clients for subsystems; without an API server all but `eventApi` are absent. */
export interface ClientPorts {
  /** Destination of events. */
  readonly eventApi?: EventApi;
  /** For requests of certificates. */
  readonly client?: KubeClient;
  /** Objects that pods refer to. */
  readonly objects?: ObjectSource;
  /** Tokens of service accounts. */
  readonly tokens?: ServiceAccountTokens;
  /** Services for the environment of pods. */
  readonly services?: ServiceList;
  /** Classes that pods name. */
  readonly runtimeClasses?: RuntimeClassList;
}

/** The ports of subsystems; events go elsewhere when another sink is given. */
export function clientPorts(
  clients: ClusterClients | undefined,
  eventApi: EventApi | undefined,
): ClientPorts {
  const eventsTo = eventApi ?? clients?.events;
  const events = eventsTo ? { eventApi: eventsTo } : {};
  if (!clients) return events;
  const { client, objects, tokens, services, runtimeClasses } = clients;
  return { ...events, client, objects, tokens, services, runtimeClasses };
}

/** Name, labels and taints of the node's object, for admission; empty without an object. */
export function nodeAttributes(
  name: string,
  node: Node | undefined,
): { readonly node?: NodeAttributes } {
  if (!node) return {};
  const { metadata, spec } = node;
  return { node: { name, labels: metadata?.labels ?? {}, taints: spec?.taints ?? [] } };
}
