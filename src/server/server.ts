/**
 * The agent's server. Owns: its listeners and the certificate it makes. In: requests. Out: what the agent
 * knows, and connections into containers. Invariants: it changes nothing of the agent; nobody is answered
 * on the HTTPS port who has not proved who they are, unless the configuration says so; the port is where the
 * configuration says; no response contains what only a client of another endpoint may see.
 */
import type { Reading } from "../kit/cell.ts";
import type { Clock, MonotonicMs } from "../kit/clock.ts";
import { InvariantError, isOutside, UsageError } from "../kit/errors.ts";
import type { Log } from "../kit/log.ts";
import type { TaskScope } from "../kit/scope.ts";
import type { Files } from "../outside/host/host.ts";
import type {
  HttpListener,
  ListenAddress,
  ListenLimits,
  ListenOptions,
  Serving,
  TlsMaterial,
} from "../outside/serving.ts";
import {
  type Authenticator,
  certificateAuthenticator,
  LOCAL,
  unionOf,
} from "./access/authenticate.ts";
import { type Authorizer, alwaysAllow, mastersThen } from "./access/authorize.ts";
import type { Delegated } from "./access/delegated.ts";
import { ServingCertificate } from "./access/serving-certificate.ts";
import { type CallerAdmission, EndpointServer } from "./endpoint.ts";
import { createHttpMetrics } from "./http-metrics.ts";
import { healthChecks } from "./routes/health.ts";
import { kubeletRoutes } from "./routes/kubelet-routes.ts";
import { ownRoutes } from "./routes/own-routes.ts";
import { exposeProcess } from "./routes/process-metrics.ts";
import { createStreamingMetrics } from "./routes/streaming.ts";
import type { Endpoint } from "./routes.ts";
import type { ServedNode } from "./served-node.ts";

export type { Authentication, Identity, PresentedCredentials } from "./access/authenticate.ts";
export type { Attributes } from "./access/authorize.ts";
export type { Delegated } from "./access/delegated.ts";
export { delegatedTo } from "./access/delegated.ts";
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
}

/** What the server needs of the world. */
export interface ServerDeps {
  readonly node: ServedNode;
  readonly serving: Serving;
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  readonly scope: TaskScope;
  readonly delegated?: Delegated;
  /** An externally issued certificate (`serverTLSBootstrap`); until there is one, one is made. */
  readonly issued?: Reading<TlsMaterial | undefined>;
}

/** Where the server listens. */
export interface RunningServer {
  readonly addresses: Readonly<Partial<Record<Endpoint, ListenAddress>>>;
}

/** As the Go kubelet's server has them where it has any. */
const LIMITS: ListenLimits = {
  headerBytes: 1024 * 1024,
  headerMs: 30_000,
  requestMs: 60_000,
  handshakeMs: 10_000,
  idleMs: 90_000,
  stalledMs: 120_000,
  connections: 4096,
};

/** Pause before the health port is tried again. */
const HEALTH_RETRY_MS = 5_000;
const NOBODY = { name: "system:anonymous", groups: ["system:unauthenticated"] };

/**
 * Starts the listeners in `deps.scope`. Throws `UsageError` for certificates that cannot be used, and
 * `OutsideError` "alreadyExists" when somebody else listens on the HTTPS or read-only port or the socket.
 */
export async function startServer(
  options: ServerOptions,
  deps: ServerDeps,
): Promise<RunningServer> {
  const { node, clock, serving } = deps;
  const { config, metrics } = node;
  exposeProcess(metrics, serving.process, node.nodeName);
  const checks = healthChecks({
    clock,
    lastListing: node.subsystems.runtime.watch.lastListing,
    startedAt: clock.monotonic() as MonotonicMs,
    devicePlugins: node.subsystems.devices.plugins.problem,
    registry: node.health,
  });
  const log = deps.log.child("server");
  const countTranslated = createStreamingMetrics(metrics);
  const routes = [
    ...kubeletRoutes(node, { clock, log, checks, countTranslated }),
    ...ownRoutes(node, { clock, process: serving.process }),
  ];
  const httpMetrics = createHttpMetrics(metrics, clock);
  const endpointOf = (endpoint: Endpoint, admission: CallerAdmission) =>
    new EndpointServer({ endpoint, routes, admission, metrics: httpMetrics, log });
  const everybody: CallerAdmission = { kind: "everybody", identity: NOBODY };
  const addresses: Partial<Record<Endpoint, ListenAddress>> = {};
  if (options.socketPath !== undefined) {
    const local = endpointOf("local", { kind: "everybody", identity: LOCAL });
    addresses.local = await startLocal(options.socketPath, options, { ...deps, log }, local);
  }
  if (config.enableServer) {
    addresses.secure = await startSecure(options, deps, (admission) =>
      endpointOf("secure", admission),
    );
    if (config.readOnlyPort > 0) {
      const at = { kind: "tcp", host: config.address, port: config.readOnlyPort } as const;
      addresses.readOnly = (await listen(deps, endpointOf("readOnly", everybody), at)).address;
    }
  }
  if (config.healthzPort > 0) {
    const at = { kind: "tcp", host: config.healthzBindAddress, port: config.healthzPort } as const;
    addresses.health = at;
    startHealth(deps, endpointOf("health", everybody), at);
  }
  return { addresses };
}

/** The agent's own socket, under its own name or another one. */
async function startLocal(
  socketPath: string,
  { otherSocketPaths = [] }: ServerOptions,
  deps: ServerDeps,
  endpoint: EndpointServer,
): Promise<ListenAddress> {
  const paths = [socketPath, ...otherSocketPaths];
  for (const [i, path] of paths.entries()) {
    try {
      const { address } = await listen(deps, endpoint, { kind: "unix", path });
      if (i > 0)
        deps.log.warn("another agent listens on the socket; this agent's own has another name", {
          held: socketPath,
          socket: path,
        });
      return address;
    } catch (error) {
      if (!isOutside(error, "alreadyExists") || i === paths.length - 1) throw error;
    }
  }
  throw new InvariantError("a list of sockets is never empty");
}

/** The HTTPS port, with certificates that are followed. */
async function startSecure(
  options: ServerOptions,
  deps: ServerDeps,
  endpointOf: (admission: CallerAdmission) => EndpointServer,
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
  const certificate = new ServingCertificate(
    {
      ...(certFile === "" ? {} : { given: { certFile, keyFile } }),
      folder: options.certFolder,
      nodeName,
      addresses,
      clientCaFile: authentication.x509.clientCAFile,
    },
    { files, clock, log, state: node.state, ...(deps.issued ? { issued: deps.issued } : {}) },
  );
  const authorizer =
    authorization.mode === "AlwaysAllow" ? alwaysAllow : mastersThen(delegated?.authorizer);
  const endpoint = endpointOf({
    kind: "checked",
    nodeName,
    authorizer,
    authenticator: unionOf(
      [certificateAuthenticator, ...(delegated?.authenticators ?? [])],
      authentication.anonymous.enabled,
    ),
  });
  const material = await certificate.load();
  const provable =
    authentication.x509.clientCAFile !== "" || (delegated?.authenticators ?? []).length > 0;
  logAccess(log, { provable, anonymous: authentication.anonymous.enabled, authorizer });
  const { tlsMinVersion: minVersion, tlsCipherSuites: cipherSuites } = config;
  const settings = { minVersion, cipherSuites, curvePreferences: config.tlsCurvePreferences };
  const at = { kind: "tcp", host: config.address, port: config.port } as const;
  const listener = await listen(deps, endpoint, at, { material, settings });
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
    log.error("anybody who reaches the HTTPS port may run commands in every container", {
      fix: "set authentication.anonymous.enabled: false and authorization.mode: Webhook, or an address that only trusted programs reach",
    });
  else if (!by.provable && !by.anonymous)
    log.warn("the HTTPS port rejects all requests: no authentication method is configured", {
      fix: "set authentication.x509.clientCAFile, or enableServer: false",
    });
}

/** Starts a listener that closes with the scope. */
async function listen(
  { serving, scope }: ServerDeps,
  endpoint: EndpointServer,
  address: ListenAddress,
  tls?: NonNullable<ListenOptions["tls"]>,
): Promise<HttpListener> {
  const listener = await serving.listen({
    address,
    limits: LIMITS,
    ...(tls ? { tls } : {}),
    mayUpgrade: (method, target) => endpoint.mayUpgrade(method, target),
    onExchange: (exchange) => endpoint.answer(exchange),
    onProblem: (problem) => endpoint.onProblem(problem),
  });
  try {
    scope.defer("listener", async () => {
      await listener[Symbol.asyncDispose]();
    });
  } catch (error) {
    await listener[Symbol.asyncDispose]();
    throw error;
  }
  return listener;
}

/** The health port may be taken for a while, by an agent that is just leaving; the rest goes on. */
function startHealth(deps: ServerDeps, endpoint: EndpointServer, address: ListenAddress): void {
  deps.scope.spawn("health port", "restart", async (signal) => {
    while (!signal.aborted) {
      try {
        await listen(deps, endpoint, address);
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
