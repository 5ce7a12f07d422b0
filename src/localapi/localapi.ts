/**
 * The API of a node that has no cluster: enough of Kubernetes' own for kubectl and for the agent, which sees
 * it through its ordinary client and nothing else. Owns: the objects and their database, the authority that
 * vouches for callers, the listener. In: requests over HTTPS on loopback. Out: the same answers that a real
 * API server gives. Invariants: what was acknowledged survives a crash; nobody is answered who has not proved
 * who they are; an error says what is wrong and never where in our code.
 */
import type { Clock } from "../kit/clock.ts";
import { OutsideError } from "../kit/errors.ts";
import type { Log } from "../kit/log.ts";
import type { Random } from "../kit/random.ts";
import type { TaskScope } from "../kit/scope.ts";
import type { StateFile, StateFiles } from "../kit/state/state-files.ts";
import type { Database, OpenDatabase } from "../outside/database/database.ts";
import type { Files, PodFiles } from "../outside/host/host.ts";
import {
  type HttpListener,
  type Listen,
  type ListenAddress,
  type ListenLimits,
  serveRequests,
  type TlsMaterial,
} from "../outside/serving.ts";
import { createTokenSigner } from "../outside/tokens/tokens.ts";
import { kubeconfigText, loadCredentials } from "./access/credentials.ts";
import { certificateRequestController } from "./control/certificate-requests.ts";
import { resourceClaimController } from "./control/claims/claim-lives.ts";
import { claimController } from "./control/claims/claims.ts";
import { startController } from "./control/controllers.ts";
import { eventController } from "./control/event-expiry.ts";
import { createDefaultObjects, namespaceController } from "./control/namespaces.ts";
import { nodeTaintController } from "./control/node-taints.ts";
import { offerRuntimeClasses } from "./control/runtime-classes.ts";
import { schedulingController } from "./control/scheduler.ts";
import { signingController } from "./control/signer.ts";
import { POD_KIND as PODS_KIND } from "./kinds/catalog.ts";
import type { ObjectsCore } from "./objects/core.ts";
import type { Descriptions } from "./openapi/definitions.ts";
import { ApiService } from "./serve/server.ts";
import { ObjectStore, STORE_OPTIONS, type StoreOptions } from "./store/store.ts";

/** Paths and listening address of the local API. */
export interface LocalApiOptions {
  /** Folder of database, keys and certificates (0700). */
  readonly folder: string;
  /** Folder of the volumes that are made for claims; each holds data of pods. */
  readonly volumesFolder: string;
  readonly nodeName: string;
  /** On loopback; port 0 takes any free one. `orAnother`: so does a port that is in use. */
  readonly address: { readonly host: string; readonly port: number; readonly orAnother?: boolean };
  /** Path of the administrator's kubeconfig (0600). */
  readonly kubeconfigPath: string;
  /** Socket of the node's agent, for logs and connections into containers. */
  readonly agentSocket?: string;
  /** Handlers of the runtime that get a RuntimeClass; undefined where nobody knows, and the classes stay as they are. */
  readonly runtimeHandlers?: readonly string[];
  readonly versions: { readonly kubernetes: string; readonly nodelet: string };
  /** Texts of types and fields for `kubectl explain`; none without. */
  readonly readDescriptions?: () => Promise<Descriptions>;
  readonly store?: StoreOptions;
  /** For the whole body of a request; default half a minute. */
  readonly bodyWithinMs?: number;
}

interface LocalApiDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly files: Files;
  /** For the data of claims. */
  readonly podFiles: PodFiles;
  readonly state: StateFiles;
  readonly listen: Listen;
  readonly openDatabase: OpenDatabase;
  readonly scope: TaskScope;
}

/** A running API; it ends with its scope. */
export interface LocalApi {
  /** `https://127.0.0.1:6443` */
  readonly url: string;
  readonly kubeconfigPath: string;
  /** Path of the kubeconfig that the node's agent joins with (0600). */
  readonly nodeKubeconfigPath: string;
  /**
   * Whether the pod was set aside because its object cannot be used: it was not deleted. False again once a
   * pod of that name was written.
   */
  isBrokenPod(namespace: string, name: string): boolean;
}

/** Clients are on the same machine: few, and not slow to take what they asked for. */
const LIMITS: Partial<ListenLimits> = { stalledMs: 60_000, connections: 1024 };
const FILE_MODE = 0o600;
const DATABASE = "objects.db";
/** Collection of the pods. */
const PODS = PODS_KIND.collection;
const NODE_KUBECONFIG = "node.kubeconfig";

/**
 * Starts the API in `deps.scope`. Throws `OutsideError`: "alreadyExists" when the address is in use,
 * "io" when files or database cannot be used.
 */
export async function startLocalApi(
  options: LocalApiOptions,
  deps: LocalApiDeps,
): Promise<LocalApi> {
  const { folder, nodeName, kubeconfigPath, address } = options;
  const { clock, random, state, scope } = deps;
  const log = deps.log.child("local API");
  const credentials = await loadCredentials(
    { folder: `${folder}/pki`, nodeName },
    { state, clock },
  );
  const database = await openObjects(folder, deps);
  scope.defer("local API: database", () => database.close());
  const store = new ObjectStore(options.store ?? STORE_OPTIONS, { database, clock, log });
  const broken = reportBroken(store, folder, state);
  scope.defer("local API: last writes", () => store.flush());
  const core: ObjectsCore = { store, clock, random, log, unplannable: new WeakSet() };
  createOwnObjects(core, options);
  store.flush();
  startControllers(core, credentials.authority, scope);
  const { volumesFolder } = options;
  startController(
    claimController({ core, podFiles: deps.podFiles, folder: volumesFolder, nodeName }),
    core,
    scope,
  );
  const signer = createTokenSigner(credentials.tokenKeyPem);
  const service = new ApiService({
    core,
    tokens: { signer, store, clock, random },
    version: options.versions,
    readDescriptions: options.readDescriptions ?? (() => Promise.resolve({})),
    ...(options.bodyWithinMs === undefined ? {} : { bodyWithinMs: options.bodyWithinMs }),
    ...(options.agentSocket === undefined ? {} : { agentSocket: options.agentSocket }),
  });
  const listener = await serve(
    service,
    options.address,
    { ...deps, log },
    {
      ...credentials.serving,
      clientAuthoritiesPem: credentials.authority.certificatePem,
    },
  );
  const port = listener.address.kind === "tcp" ? listener.address.port : 0;
  const url = `https://${address.host.includes(":") ? `[${address.host}]` : address.host}:${port}`;
  const nodeKubeconfigPath = `${folder}/${NODE_KUBECONFIG}`;
  const write = (path: string, name: string, identity: typeof credentials.admin) =>
    state.write(
      { name: "local_api_kubeconfig", path, holds: "access to the local API" },
      kubeconfigText(url, credentials.authority.certificatePem, { name, identity }),
      FILE_MODE,
    );
  await write(nodeKubeconfigPath, "node", credentials.node);
  await write(kubeconfigPath, "admin", credentials.admin);
  log.info("local API is serving", { url, kubeconfig: kubeconfigPath });
  const isBrokenPod = (namespace: string, name: string) =>
    broken.has(`${namespace}/${name}`) && store.get(PODS, `${namespace}/${name}`) === undefined;
  return { url, kubeconfigPath, nodeKubeconfigPath, isBrokenPod };
}

function createOwnObjects(core: ObjectsCore, { runtimeHandlers }: LocalApiOptions): void {
  createDefaultObjects(core);
  if (runtimeHandlers !== undefined) offerRuntimeClasses(core, runtimeHandlers);
}

/**
 * Opens the objects. A node that had some and has lost the file is not to begin with none by itself: all
 * its pods would be ended. Throws `OutsideError`.
 */
async function openObjects(folder: string, deps: LocalApiDeps): Promise<Database> {
  const path = `${folder}/${DATABASE}`;
  const isLost = ((await deps.files.facts(path, { follow: true }))?.sizeBytes ?? 0) === 0;
  const hadSome = (await deps.files.facts(`${folder}/${NODE_KUBECONFIG}`)) !== undefined;
  if (isLost && hadSome) {
    throw new OutsideError(
      "precondition",
      `database ${path}: it is missing or empty although this node had objects; restore it, or remove ${folder} to start without objects, which stops their pods`,
    );
  }
  return deps.openDatabase(path);
}

/** Says which objects were set aside; gives the keys of the pods among them. */
function reportBroken(store: ObjectStore, folder: string, state: StateFiles): ReadonlySet<string> {
  const pods = new Set<string>();
  for (const { collection, key, why } of store.broken) {
    const file: StateFile = {
      name: "local_api_object",
      path: `${folder}/${DATABASE}: ${collection} ${key}`,
      holds: collection === PODS ? "the pod; its containers keep running" : "the object",
    };
    const keptAs = `table broken_rows of ${folder}/${DATABASE}`;
    state.note(file, { kind: "setAside", why, keptAs });
    if (collection === PODS) pods.add(key);
  }
  return pods;
}

async function serve(
  service: ApiService,
  { host, port, orAnother = false }: LocalApiOptions["address"],
  { listen, scope, log }: Pick<LocalApiDeps, "listen" | "scope" | "log">,
  material: TlsMaterial,
): Promise<HttpListener> {
  const at = (own: number): ListenAddress => ({ kind: "tcp", host, port: own });
  const settings = { minVersion: "VersionTLS12", cipherSuites: [], curvePreferences: [] };
  const listener = await serveRequests(
    service,
    {
      addresses: orAnother ? [at(port), at(0)] : [at(port)],
      tls: { material, settings },
      http2: true,
      limits: LIMITS,
    },
    { listen, scope, log },
  );
  const { address } = listener;
  if (port !== 0 && address.kind === "tcp" && address.port !== port)
    log.warn("default port of the local API is in use; using another one", { port });
  return listener;
}

function startControllers(
  core: ObjectsCore,
  authority: { readonly certificatePem: string; readonly privateKeyPem: string },
  scope: TaskScope,
): void {
  startController(namespaceController(core, authority.certificatePem), core, scope);
  startController(nodeTaintController(core), core, scope);
  startController(schedulingController(core), core, scope);
  startController(signingController(core, authority), core, scope);
  startController(eventController(core), core, scope);
  startController(certificateRequestController(core), core, scope);
  startController(resourceClaimController(core), core, scope);
}
