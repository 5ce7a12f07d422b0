import type { KubeletFlags } from "../config/flags/kubelet-flags.ts";
import type { KubeletConfig } from "../config/kubelet-config.ts";
import { Cell } from "../kit/cell.ts";
import { UsageError } from "../kit/errors.ts";
import type { StateFiles } from "../kit/state/state-files.ts";
import type { ClusterOptions } from "../node/cluster.ts";
import {
  type ApiEndpoint,
  type ClientIdentity,
  DeferredTransport,
  type Kube,
  KubeClient,
  type Kubeconfig,
  type LoadedEndpoint,
  loadEndpoint,
  readKubeconfig,
} from "../outside/kube/kube.ts";
import type { Outside } from "../outside/outside.ts";
import { parseCertificate } from "../outside/x509/x509.ts";
import {
  bootstrapCertificate,
  CertificateStore,
  CLIENT_STORE,
  clientRotation,
  isCurrent,
  keepCertificate,
  nodeKubeconfig,
} from "../subsystems/certificates/certificates.ts";

/** Inputs that decide whether and how the node joins a cluster. */
export interface AccessRequest {
  readonly flags: KubeletFlags;
  readonly config: KubeletConfig;
  readonly nodeName: string;
  readonly kubeletVersion: string;
  /** When given, damaged pairs of certificate and key are set aside first. */
  readonly state?: StateFiles;
}

/** The world as far as reaching an API server needs it. */
export type AccessWorld = Outside & { readonly kube: Kube };

const MAX_KUBECONFIG_BYTES = 4 * 1024 * 1024;
const PRIVATE_MODE = 0o600;

/**
 * The cluster that the flags name; undefined without `--kubeconfig`. A node that has no certificate yet gets one, however long
 * its approval takes, as soon as the agent runs. Throws `UsageError` for what cannot be used.
 */
export async function openCluster(
  request: AccessRequest,
  world: AccessWorld,
): Promise<ClusterOptions | undefined> {
  const { flags } = request;
  if (flags.kubeconfig === "") {
    if (flags.bootstrapKubeconfig === "") return undefined;
    throw new UsageError("--bootstrap-kubeconfig: --kubeconfig must say where to keep the result");
  }
  if (request.state) await storeOf(request, world).repair(request.state);
  if (flags.bootstrapKubeconfig !== "" && !(await isUsable(flags.kubeconfig, world)))
    return await openLater(request, world);
  return await openNow(request, world);
}

/**
 * Static pods do not wait for the certificate: on a control plane that joins, one of them is the API server that the node asks
 * for it.
 */
async function openLater(request: AccessRequest, world: AccessWorld): Promise<ClusterOptions> {
  const { bootstrapKubeconfig: path } = request.flags;
  if ((await read(path, world)) === undefined)
    throw new UsageError(`--bootstrap-kubeconfig: ${path} does not exist`);
  await load(path, world);
  const reason = () => "the node has no certificate yet";
  const transport = new DeferredTransport(reason);
  const heartbeatTransport = new DeferredTransport(reason);
  const current = new Cell<{ readonly certificatePem: string } | undefined>(undefined);
  const failures = new Cell(0);
  let opened: ClusterOptions | undefined;
  const open = async (signal: AbortSignal) => {
    await bootstrap(request, world, signal);
    const cluster = await openNow(request, world);
    transport.provide(cluster.transport);
    heartbeatTransport.provide(cluster.heartbeatTransport ?? cluster.transport);
    const { clientCertificate: own } = cluster;
    current.set(own?.current.get());
    own?.current.subscribe((identity) => current.set(identity));
    own?.failures.subscribe((count) => failures.set(count));
    return cluster;
  };
  return {
    transport,
    heartbeatTransport,
    keepFresh: async (signal) => {
      opened ??= await open(signal);
      await opened.keepFresh?.(signal);
    },
    clientCertificate: { current, failures },
    ...clusterFacts(request),
  };
}

async function openNow(request: AccessRequest, world: AccessWorld): Promise<ClusterOptions> {
  const { flags, config } = request;
  const loaded = await load(flags.kubeconfig, world);
  const failures = new Cell(0);
  const { endpoint, keepFresh } = config.rotateCertificates
    ? await rotating(loaded, { request, failures }, world)
    : loaded;
  const { identity } = endpoint.credentials;
  return {
    transport: world.kube.connect(endpoint),
    heartbeatTransport: world.kube.connect(endpoint),
    keepFresh,
    ...(identity ? { clientCertificate: { current: identity, failures } } : {}),
    ...clusterFacts(request),
  };
}

/** Flags about the node in a cluster, independent of how it joins. */
export function clusterFacts({
  flags,
  kubeletVersion,
}: Pick<AccessRequest, "flags" | "kubeletVersion">): Omit<
  ClusterOptions,
  "transport" | "heartbeatTransport" | "keepFresh"
> {
  return {
    nodeLabels: flags.nodeLabels,
    schedulable: flags.registerSchedulable,
    externalCloud: flags.cloudProvider === "external",
    kubeletVersion,
  };
}

function storeOf({ flags }: AccessRequest, { clock, log, host }: AccessWorld): CertificateStore {
  const deps = { clock, log: log.child("certificates"), files: host.files };
  return new CertificateStore(flags.certDir, CLIENT_STORE, deps);
}

async function read(path: string, { host }: AccessWorld): Promise<Kubeconfig | undefined> {
  const text = await host.files.readText(path, { maxBytes: MAX_KUBECONFIG_BYTES });
  return text === undefined ? undefined : readKubeconfig(text, path);
}

async function load(path: string, world: AccessWorld): Promise<LoadedEndpoint> {
  const config = await read(path, world);
  if (!config) throw new UsageError(`--kubeconfig: ${path} does not exist`);
  const { clock, log, kube, host } = world;
  return await loadEndpoint(config, { clock, log, kube, files: host.files });
}

/** Whether the node has credentials already that are still good (bootstrap.go isClientConfigStillValid). */
async function isUsable(path: string, world: AccessWorld): Promise<boolean> {
  try {
    if ((await read(path, world)) === undefined) return false;
    const { endpoint } = await load(path, world);
    const identity = endpoint.credentials.identity?.get();
    return identity === undefined || isCurrent(identity, world.clock.wall());
  } catch (error) {
    const fields = { file: path, error };
    world.log.warn("the kubeconfig cannot be used; the node asks for a new certificate", fields);
    return false;
  }
}

async function bootstrap(
  { flags, nodeName }: AccessRequest,
  world: AccessWorld,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, log, kube, host } = world;
  const { bootstrapKubeconfig: path, kubeconfig, certDir: certFolder } = flags;
  const config = await read(path, world);
  if (!config) throw new UsageError(`--bootstrap-kubeconfig: ${path} does not exist`);
  const { endpoint } = await load(path, world);
  const transport = kube.connect(endpoint);
  try {
    const client = new KubeClient({}, { transport, clock, log: log.child("kube") });
    const deps = { client, clock, random, log: log.child("certificates"), files: host.files };
    const pairPath = await bootstrapCertificate({ nodeName, certFolder }, deps, signal);
    const text = nodeKubeconfig(config, pairPath);
    await host.files.writeAtomic(kubeconfig, text, PRIVATE_MODE);
    log.info("the node has its first certificate", { kubeconfig, certificate: pairPath });
  } finally {
    transport.close();
  }
}

/** The same endpoint with a certificate that is renewed through the API (`rotateCertificates`). */
async function rotating(
  { endpoint, keepFresh }: LoadedEndpoint,
  { request, failures }: { readonly request: AccessRequest; readonly failures: Cell<number> },
  world: AccessWorld,
): Promise<{ readonly endpoint: ApiEndpoint; readonly keepFresh: LoadedEndpoint["keepFresh"] }> {
  const { clock, random, kube } = world;
  const given = endpoint.credentials.identity?.get();
  // With a token or a credential program there is no certificate to renew.
  if (!given) return { endpoint, keepFresh };
  const log = world.log.child("certificates");
  const store = storeOf(request, world);
  const first = later(given, await store.current());
  const identity = new Cell<ClientIdentity | undefined>(first);
  const own = { ...endpoint, credentials: { ...endpoint.credentials, identity } };
  return {
    endpoint: own,
    keepFresh: async (signal) => {
      const transport = kube.connect(own);
      try {
        const client = new KubeClient({}, { transport, clock, log: world.log.child("kube") });
        const take = (pair: ClientIdentity) => identity.set(pair);
        const onFailure = () => failures.set(failures.get() + 1);
        const deps = { client, clock, random, log, store, take, onFailure, wakeOn: [] };
        const now = identity.get();
        await keepCertificate(clientRotation(request.nodeName), deps, { first: now, signal });
      } finally {
        transport.close();
      }
    },
  };
}

/** The one that is good for longer: a kubeconfig may hold the very first. */
function later(given: ClientIdentity, kept: ClientIdentity | undefined): ClientIdentity {
  if (!kept) return given;
  const endOf = ({ certificatePem }: ClientIdentity) => parseCertificate(certificatePem).notAfter;
  return endOf(kept) > endOf(given) ? kept : given;
}
