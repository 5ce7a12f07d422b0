/**
 * The agent's server. Owns: its listeners and the certificate it makes. In: requests. Out: what the agent
 * knows, and connections into containers. Invariants: it changes nothing of the agent; unauthenticated peers get no answer
 * on the HTTPS port, unless the configuration allows it; the port is where the
 * configuration says; no response contains what only a client of another endpoint may see.
 *
 * Example:
 *     const { addresses } = await startServer({ certFolder, socketPath }, { node, serving, files, clock, log, scope, random });
 */
import { gatesInForce } from "../config/gates/feature-gates.ts";
import type { Reading } from "../kit/cell.ts";
import type { Clock, MonotonicMs } from "../kit/clock.ts";
import { isOutside, UsageError } from "../kit/errors.ts";
import type { Log } from "../kit/log.ts";
import { MetricsRegistry } from "../kit/metrics.ts";
import type { Random } from "../kit/random.ts";
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
import { PageSessions, sessionAuthenticator } from "./access/page-sessions.ts";
import { ownCertificateFile, ServingCertificate } from "./access/serving-certificate.ts";
import { exposeAgent } from "./agent-metrics.ts";
import type { ServedRoute } from "./call.ts";
import { type CallerAdmission, EndpointService } from "./endpoint.ts";
import { createHttpMetrics } from "./http-metrics.ts";
import { nodePageRoutes, type PageOptions } from "./page/page-routes.ts";
import type { Endpoint } from "./route-table.ts";
import { healthChecks } from "./routes/health.ts";
import { kubeletRoutes } from "./routes/kubelet-routes.ts";
import { ownRoutes } from "./routes/own-routes.ts";
import { exposeProcess } from "./routes/process-metrics.ts";
import { createStreamingMetrics } from "./routes/streaming.ts";
import type { ServedNode } from "./served-node.ts";
import { measuredChecks } from "./sli-metrics.ts";

export type { Authentication, PresentedCredentials } from "./access/authenticate.ts";
export type { Attributes } from "./access/authorize.ts";
export type { Delegated } from "./access/delegated.ts";
export { delegatedTo } from "./access/delegated.ts";
export type { ControlPlaneReport } from "./control-plane/control-plane.ts";
export type { Identity } from "./identity.ts";
export type { ApiPodReply } from "./routes/api-pods.ts";
export type { CollectionAnswer } from "./routes/image-routes.ts";
export type { Overview } from "./routes/overview.ts";
export type { ServedNode, ServedResources } from "./served-node.ts";
export type { Authenticator, Authorizer };

export interface ServerOptions {
  /** Folder of the certificate it makes (`--cert-dir`). */
  readonly certFolder: string;
  /** The agent's own socket; none without. */
  readonly socketPath?: string;
  /** Alternatives while another process listens on that socket; the first that is free is used. Default none. */
  readonly otherSocketPaths?: readonly string[];
  /** Values of all flags by name, for `/flagz`. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Folder served below `/logs/`; default /var/log. */
  readonly nodeLogFolder?: string;
  /** The page of the node, with the certificate and the rights of the HTTPS port; none without. */
  readonly page?: PageOptions;
}

interface ServerDeps {
  readonly node: ServedNode;
  readonly serving: Serving;
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  readonly tracer?: Tracer;
  readonly scope: TaskScope;
  readonly random: Random;
  readonly delegated?: Delegated;
  /** An externally issued certificate (`serverTLSBootstrap`); until there is one, one is made. */
  readonly issued?: Reading<TlsMaterial | undefined>;
}

/** Addresses that the server listens on, by endpoint. */
export interface RunningServer {
  readonly addresses: Readonly<Partial<Record<Endpoint, ListenAddress>>>;
}

/** Pause before a port is tried again. */
const PORT_RETRY_MS = 5_000;
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
  const log = deps.log.child("server");
  const page = options.page && {
    ...options.page,
    sessions: new PageSessions(clock, deps.random),
  };
  const routes = servedRoutes(options, deps, page);
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
  if (config.enableServer || page) {
    const secure = await startSecure(options, deps, serve, page?.sessions);
    if (secure) addresses.secure = secure;
  }
  if (config.readOnlyPort > 0) {
    const at = { kind: "tcp", host: config.address, port: config.readOnlyPort } as const;
    addresses.readOnly = (await serve("readOnly", everybody, { addresses: [at] })).address;
  }
  if (config.healthzPort > 0) {
    const at = { kind: "tcp", host: config.healthzBindAddress, port: config.healthzPort } as const;
    addresses.health = at;
    const on = { addresses: [at], forHealthChecks: true } as const;
    startRetried(deps, "health port", () => serve("health", everybody, on));
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
    gates: gatesInForce(config),
    process: serving.process,
    architecture,
    showHidden: config.showHiddenMetricsForVersion !== "",
  });
  return sliMetrics;
}

/** The page with its sessions. */
type ServedPage = PageOptions & { readonly sessions: PageSessions };

function servedRoutes(
  options: ServerOptions,
  deps: ServerDeps,
  page: ServedPage | undefined,
): readonly ServedRoute[] {
  const { node, clock, serving } = deps;
  const { process } = serving;
  const sliMetrics = exposeOwn(node, serving);
  const served = healthChecks({
    clock,
    lastListing: node.subsystems.runtime.watch.lastListing,
    startedAt: clock.monotonic() as MonotonicMs,
    devicePlugins: node.subsystems.devices.plugins.problem,
    registry: node.health,
  });
  const checks = measuredChecks(served, sliMetrics);
  return [
    ...kubeletRoutes(node, {
      clock,
      log: deps.log.child("server"),
      checks,
      sliMetrics,
      countTranslated: createStreamingMetrics(node.metrics),
      serving,
      flags: options.flags ?? {},
      nodeLogFolder: options.nodeLogFolder ?? NODE_LOG_FOLDER,
    }),
    ...ownRoutes(node, { clock, process }),
    ...(page ? nodePageRoutes(node, { clock, process, ...page }) : []),
  ];
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

/** The HTTPS port and the page, with one certificate, which is followed, and one kind of rights. */
async function startSecure(
  options: ServerOptions,
  deps: ServerDeps,
  serve: ServeEndpoint,
  sessions: PageSessions | undefined,
): Promise<ListenAddress | undefined> {
  const { node, scope, delegated } = deps;
  const { config, nodeName } = node;
  const certificate = servingCertificate(options, deps);
  const material = await certificate.load();
  const { tlsMinVersion: minVersion, tlsCipherSuites: cipherSuites } = config;
  const settings = { minVersion, cipherSuites, curvePreferences: config.tlsCurvePreferences };
  const tls = { material, settings };
  const authorizer =
    config.authorization.mode === "AlwaysAllow" ? alwaysAllow : mastersThen(delegated?.authorizer);
  const authenticators = [certificateAuthenticator, ...(delegated?.authenticators ?? [])];
  const admit = (authenticator: Authenticator): CallerAdmission => ({
    kind: "checked",
    nodeName,
    authorizer,
    authenticator,
  });
  const listeners: HttpListener[] = [];
  if (config.enableServer) {
    const { enabled: anonymous } = config.authentication.anonymous;
    const provable =
      config.authentication.x509.clientCAFile !== "" ||
      (delegated?.authenticators ?? []).length > 0;
    logAccess(deps.log.child("server"), { provable, anonymous, authorizer });
    const at = { kind: "tcp", host: config.address, port: config.port } as const;
    const admission = admit(unionOf(authenticators, anonymous));
    listeners.push(await serve("secure", admission, { addresses: [at], tls }));
  }
  if (options.page && sessions) {
    const at = { kind: "tcp", ...options.page.address } as const;
    const admission = admit(unionOf([sessionAuthenticator(sessions), ...authenticators], false));
    startRetried(deps, "page", async () => {
      listeners.push(await serve("page", admission, { addresses: [at], tls }));
    });
  }
  const setTls = (next: TlsMaterial) => {
    for (const listener of listeners) listener.setTls(next);
  };
  scope.spawn("server certificates", "restart", (signal) =>
    certificate.follow(material, setTls, signal),
  );
  return config.enableServer ? listeners[0]?.address : undefined;
}

function servingCertificate(options: ServerOptions, deps: ServerDeps): ServingCertificate {
  const { files, clock, node, issued } = deps;
  const { config, nodeName, addresses, state } = node;
  const { tlsCertFile: certFile, tlsPrivateKeyFile: keyFile, authentication } = config;
  if ((certFile === "") !== (keyFile === ""))
    throw new UsageError("tlsCertFile, tlsPrivateKeyFile: one is set without the other");
  // The agent's own pair may be named, too: it is made all the same.
  const isGiven = certFile !== "" && certFile !== ownCertificateFile(options.certFolder);
  return new ServingCertificate(
    {
      ...(isGiven ? { given: { certFile, keyFile } } : {}),
      folder: options.certFolder,
      nodeName,
      addresses,
      clientCaFile: authentication.x509.clientCAFile,
    },
    { files, clock, log: deps.log.child("server"), state, ...(issued ? { issued } : {}) },
  );
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

/** A port may be taken for a while, by an agent that is just leaving; the rest goes on. */
function startRetried(deps: ServerDeps, what: string, serve: () => Promise<unknown>): void {
  deps.scope.spawn(what, "restart", async (signal) => {
    while (!signal.aborted) {
      try {
        await serve();
        return;
      } catch (error) {
        if (!isOutside(error)) throw error;
        deps.log.error(`failed to serve the ${what}; will retry`, { error });
        await deps.clock.sleep(PORT_RETRY_MS, signal).catch(() => {});
      }
    }
  });
}
