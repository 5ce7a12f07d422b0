/**
 * The agent's server. Owns: its listeners and the certificate it makes. In: requests. Out: what the agent
 * knows, and connections into containers. Invariants: it changes nothing of the agent; nobody is answered
 * on the HTTPS port who has not proved who they are, unless the configuration says so; the port is where the
 * configuration says; no response contains what only a client of another endpoint may see.
 */
import { resolveGates } from "../config/gates/feature-gates.ts";
import type { Reading } from "../kit/cell.ts";
import type { Clock, MonotonicMs } from "../kit/clock.ts";
import { isOutside, UsageError } from "../kit/errors.ts";
import type { Log } from "../kit/log.ts";
import { MetricsRegistry } from "../kit/metrics.ts";
import type { TaskScope } from "../kit/scope.ts";
import { noTracer, type Tracer } from "../kit/tracing/tracing.ts";
import type { Files } from "../outside/host/host.ts";
import {
  type HttpListener,
  type ListenAddress,
  type ServeOptions,
  type Serving,
  serveRequests,
  type TlsMaterial,
} from "../outside/serving.ts";
import {
  type Authenticator,
  certificateAuthenticator,
  LOCAL,
  unionOf,
} from "./access/authenticate.ts";
import { type Authorizer, alwaysAllow, mastersThen } from "./access/authorize.ts";
import type { Delegated } from "./access/delegated.ts";
import { ownCertificateFile, ServingCertificate } from "./access/serving-certificate.ts";
import { exposeAgent } from "./agent-metrics.ts";
import { type CallerAdmission, EndpointService } from "./endpoint.ts";
import { createHttpMetrics } from "./http-metrics.ts";
import { healthChecks } from "./routes/health.ts";
import { kubeletRoutes } from "./routes/kubelet-routes.ts";
import { ownRoutes } from "./routes/own-routes.ts";
import { exposeProcess } from "./routes/process-metrics.ts";
import { createStreamingMetrics } from "./routes/streaming.ts";
import type { Endpoint } from "./routes.ts";
import type { ServedNode } from "./served-node.ts";
import { measuredChecks } from "./sli-metrics.ts";

export type { Authentication, Identity, PresentedCredentials } from "./access/authenticate.ts";
export type { Attributes } from "./access/authorize.ts";
export type { Delegated } from "./access/delegated.ts";
export { delegatedTo } from "./access/delegated.ts";
export type { ApiPodReply } from "./routes/api-pods.ts";
export type { CollectionAnswer } from "./routes/image-routes.ts";
export type { Overview } from "./routes/overview.ts";
export type { ServedNode, ServedResources } from "./served-node.ts";
export type { Authenticator, Authorizer };

/** Options of the server beside the configuration. */
export interface ServerOptions {
  /** Folder of the certificate it makes (`--cert-dir`). */
  readonly certFolder: string;
  /** The agent's own socket; none without. */
  readonly socketPath?: string;
  /** Where that socket is instead while another process listens there; the first that is free. Default none. */
  readonly otherSocketPaths?: readonly string[];
  /** Values of all flags by name, for `/flagz`. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Folder served below `/logs/`; default /var/log. */
  readonly nodeLogFolder?: string;
}

/** Dependencies of the server. */
export interface ServerDeps {
  readonly node: ServedNode;
  readonly serving: Serving;
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  readonly tracer?: Tracer;
  readonly scope: TaskScope;
  readonly delegated?: Delegated;
  /** An externally issued certificate (`serverTLSBootstrap`); until there is one, one is made. */
  readonly issued?: Reading<TlsMaterial | undefined>;
}

/** Where the server listens. */
export interface RunningServer {
  readonly addresses: Readonly<Partial<Record<Endpoint, ListenAddress>>>;
}

/** Pause before the health port is tried again. */
const HEALTH_RETRY_MS = 5_000;
/** Folder of the node's logs (nodeLogDir). */
const NODE_LOG_FOLDER = "/var/log";
const NOBODY = { name: "system:anonymous", groups: ["system:unauthenticated"] };

/**
 * Starts the listeners in `deps.scope`. Throws `UsageError` for certificates that cannot be used, and
 * `OutsideError` "alreadyExists" when another program listens on the HTTPS or read-only port or the socket.
 */
export async function startServer(
  options: ServerOptions,
  deps: ServerDeps,
): Promise<RunningServer> {
  const { node, clock, serving } = deps;
  const { config, metrics } = node;
  const sliMetrics = exposeOwn(node, serving);
  const served = healthChecks({
    clock,
    lastListing: node.subsystems.runtime.watch.lastListing,
    startedAt: clock.monotonic() as MonotonicMs,
    devicePlugins: node.subsystems.devices.plugins.problem,
    registry: node.health,
  });
  const checks = measuredChecks(served, sliMetrics);
  const log = deps.log.child("server");
  const routes = [
    ...kubeletRoutes(node, {
      clock,
      log,
      checks,
      sliMetrics,
      countTranslated: createStreamingMetrics(metrics),
      serving,
      flags: options.flags ?? {},
      nodeLogFolder: options.nodeLogFolder ?? NODE_LOG_FOLDER,
    }),
    ...ownRoutes(node, { clock, process: serving.process }),
  ];
  const httpMetrics = createHttpMetrics(metrics, clock);
  const serve: ServeEndpoint = (endpoint, admission, at) => {
    const own = deps.log.child("server", { endpoint });
    const service = new EndpointService({
      endpoint,
      routes,
      admission,
      metrics: httpMetrics,
      log: own,
      tracer: deps.tracer ?? noTracer,
    });
    return serveRequests(service, at, { listen: serving.listen, scope: deps.scope, log: own });
  };
  const everybody: CallerAdmission = { kind: "everybody", identity: NOBODY };
  const addresses: Partial<Record<Endpoint, ListenAddress>> = {};
  if (options.socketPath !== undefined)
    addresses.local = await startLocal(options.socketPath, options, log, serve);
  if (config.enableServer) {
    addresses.secure = await startSecure(options, deps, serve);
    if (config.readOnlyPort > 0) {
      const at = { kind: "tcp", host: config.address, port: config.readOnlyPort } as const;
      addresses.readOnly = (await serve("readOnly", everybody, { addresses: [at] })).address;
    }
  }
  if (config.healthzPort > 0) {
    const at = { kind: "tcp", host: config.healthzBindAddress, port: config.healthzPort } as const;
    addresses.health = at;
    startHealth(deps, () => serve("health", everybody, { addresses: [at] }));
  }
  return { addresses };
}

/** Exposes what the agent itself is and uses; gives the registry of its health checks. */
function exposeOwn(node: ServedNode, serving: Serving): MetricsRegistry {
  const { metrics, config, versions, architecture } = node;
  const sliMetrics = new MetricsRegistry();
  exposeProcess(metrics, serving.process, node.nodeName);
  exposeAgent({
    metrics,
    registries: [metrics, node.probeMetrics, sliMetrics],
    kubernetesVersion: versions.kubernetes,
    nodeletVersion: versions.nodelet,
    gates: resolveGates(config.featureGates).gates,
    process: serving.process,
    architecture,
    showHidden: config.showHiddenMetricsForVersion !== "",
  });
  return sliMetrics;
}

/** Starts the listener of an endpoint; it closes with the scope. */
type ServeEndpoint = (
  endpoint: Endpoint,
  admission: CallerAdmission,
  at: ServeOptions,
) => Promise<HttpListener>;

/** The agent's own socket, under its own name or another one. */
async function startLocal(
  socketPath: string,
  { otherSocketPaths = [] }: ServerOptions,
  log: Log,
  serve: ServeEndpoint,
): Promise<ListenAddress> {
  const at = (path: string): ListenAddress => ({ kind: "unix", path });
  const { address } = await serve(
    "local",
    { kind: "everybody", identity: LOCAL },
    { addresses: [at(socketPath), ...otherSocketPaths.map(at)] },
  );
  if (address.kind === "unix" && address.path !== socketPath)
    log.warn("the socket is in use by another agent; listening on another path", {
      held: socketPath,
      socket: address.path,
    });
  return address;
}

/** The HTTPS port, with certificates that are followed. */
async function startSecure(
  options: ServerOptions,
  deps: ServerDeps,
  serve: ServeEndpoint,
): Promise<ListenAddress> {
  const { node, files, clock, scope, delegated } = deps;
  const { config, nodeName, addresses } = node;
  const log = deps.log.child("server");
  const {
    authentication,
    authorization,
    tlsCertFile: certFile,
    tlsPrivateKeyFile: keyFile,
  } = config;
  if ((certFile === "") !== (keyFile === ""))
    throw new UsageError("tlsCertFile, tlsPrivateKeyFile: one is set without the other");
  // The agent's own pair may be named, too: it is made all the same.
  const isGiven = certFile !== "" && certFile !== ownCertificateFile(options.certFolder);
  const certificate = new ServingCertificate(
    {
      ...(isGiven ? { given: { certFile, keyFile } } : {}),
      folder: options.certFolder,
      nodeName,
      addresses,
      clientCaFile: authentication.x509.clientCAFile,
    },
    { files, clock, log, state: node.state, ...(deps.issued ? { issued: deps.issued } : {}) },
  );
  const authorizer =
    authorization.mode === "AlwaysAllow" ? alwaysAllow : mastersThen(delegated?.authorizer);
  const admission: CallerAdmission = {
    kind: "checked",
    nodeName,
    authorizer,
    authenticator: unionOf(
      [certificateAuthenticator, ...(delegated?.authenticators ?? [])],
      authentication.anonymous.enabled,
    ),
  };
  const material = await certificate.load();
  const provable =
    authentication.x509.clientCAFile !== "" || (delegated?.authenticators ?? []).length > 0;
  logAccess(log, { provable, anonymous: authentication.anonymous.enabled, authorizer });
  const { tlsMinVersion: minVersion, tlsCipherSuites: cipherSuites } = config;
  const settings = { minVersion, cipherSuites, curvePreferences: config.tlsCurvePreferences };
  const at = { kind: "tcp", host: config.address, port: config.port } as const;
  const tls = { material, settings };
  const listener = await serve("secure", admission, { addresses: [at], tls });
  scope.spawn("server certificates", "restart", (signal) =>
    certificate.follow(material, (next) => listener.setTls(next), signal),
  );
  return listener.address;
}

/** Warns of insecure access, or of a port without any authentication method. */
function logAccess(
  log: Log,
  by: { readonly provable: boolean; readonly anonymous: boolean; readonly authorizer: Authorizer },
): void {
  if (by.anonymous && by.authorizer === alwaysAllow)
    log.error("anyone who can reach the HTTPS port can run commands in every container", {
      fix: "set authentication.anonymous.enabled: false and authorization.mode: Webhook, or an address that only trusted programs reach",
    });
  else if (!by.provable && !by.anonymous)
    log.warn("the HTTPS port rejects all requests: no authentication method is configured", {
      fix: "set authentication.x509.clientCAFile, or enableServer: false",
    });
}

/** The health port may be taken for a while, by an agent that is just leaving; the rest goes on. */
function startHealth(deps: ServerDeps, serve: () => Promise<HttpListener>): void {
  deps.scope.spawn("health port", "restart", async (signal) => {
    while (!signal.aborted) {
      try {
        await serve();
        return;
      } catch (error) {
        if (!isOutside(error)) throw error;
        deps.log.error("failed to serve the health port; will retry", {
          error,
        });
        await deps.clock.sleep(HEALTH_RETRY_MS, signal).catch(() => {});
      }
    }
  });
}
