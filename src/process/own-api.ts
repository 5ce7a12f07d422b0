import { agentSocket } from "../client/socket.ts";
import { retryDelayMs } from "../kit/backoff.ts";
import { Cell, type Reading, until } from "../kit/cell.ts";
import { InvariantError, messageOf, OutsideError } from "../kit/errors.ts";
import { TaskScope } from "../kit/scope.ts";
import type { StateFile, StateFiles } from "../kit/state/state-files.ts";
import type { LocalApi, LocalApiOptions } from "../localapi/localapi.ts";
import type { ClusterOptions } from "../node/cluster.ts";
import type { Files } from "../outside/host/host.ts";
import { DeferredTransport } from "../outside/kube/kube.ts";
import type { Serving } from "../outside/serving.ts";
import { readApiDescriptions } from "./api-descriptions.ts";
import {
  type AccessRequest,
  type AccessWorld,
  clusterFacts,
  openCluster,
} from "./cluster-access.ts";
import { kubernetesVersion, nodeletVersion } from "./version.ts";

/** Names the environment variable with the folder of the node's own API; without it there is none. */
export const API_FOLDER_VARIABLE = "NODELET_API_FOLDER";
/** Names the one with the path of the kubeconfig for people. */
export const API_KUBECONFIG_VARIABLE = "NODELET_API_KUBECONFIG";
/** Names the environment variable for the folder of the volumes that are made for claims. */
export const API_VOLUMES_VARIABLE = "NODELET_API_VOLUMES";
/** Names the one with the port; another one is taken when it is in use. */
const API_PORT_VARIABLE = "NODELET_API_PORT";

/** Name of the file below that folder with the handlers of the runtime that get a RuntimeClass, a JSON list of names. */
export const RUNTIME_HANDLERS_FILE = "runtime-handlers.json";
const MAX_HANDLERS_BYTES = 64 * 1024;

const DEFAULT_PORT = 6443;
const HOST = "127.0.0.1";

/** The environment of the process. */
type ProcessEnvironment = Readonly<Record<string, string | undefined>>;

interface OwnApiDeps {
  readonly outside: AccessWorld & { readonly serving: Serving };
  readonly state: StateFiles;
  readonly scope: TaskScope;
}

/** The API of a node without a cluster, as its agent sees it. */
interface OwnApi {
  /** The node as one of the cluster that the API is; requests fail as long as it cannot be started. */
  readonly cluster: ClusterOptions;
  /** Why it could not be started yet; undefined when it runs. */
  readonly problem: Reading<string | undefined>;
  /** Whether the pod's object is lost without anybody having deleted it. */
  isBrokenPod(namespace: string, name: string): boolean;
}

/** Pauses between attempts to start the API. */
const RETRY = { initialMs: 1_000, maxMs: 60_000 };

/**
 * Starts the API of a node without a cluster, where the environment asks for one. Where it cannot be
 * started that is reported and tried again with growing pauses: the agent does not depend on it. It ends with
 * the scope. Throws only when the signal is aborted.
 */
export async function startOwnApi(
  env: ProcessEnvironment,
  request: AccessRequest,
  deps: OwnApiDeps,
  signal: AbortSignal,
): Promise<OwnApi | undefined> {
  const folder = env[API_FOLDER_VARIABLE] ?? "";
  if (folder === "") return undefined;
  const attempts = new OwnApiAttempts(optionsOf(env, folder, request), request, deps);
  await attempts.once(signal);
  if (attempts.problem.get() !== undefined)
    deps.scope.spawn("local API", "restart", (until) => attempts.untilRunning(until));
  return attempts;
}

function optionsOf(
  env: ProcessEnvironment,
  folder: string,
  request: AccessRequest,
): LocalApiOptions {
  const port = Number(env[API_PORT_VARIABLE] || DEFAULT_PORT);
  return {
    folder,
    volumesFolder: env[API_VOLUMES_VARIABLE] || `${folder}/volumes`,
    nodeName: request.nodeName,
    address: { host: HOST, port, orAnother: true },
    kubeconfigPath: env[API_KUBECONFIG_VARIABLE] || `${folder}/admin.kubeconfig`,
    agentSocket: agentSocket(env),
    readDescriptions: readApiDescriptions,
    versions: { kubernetes: kubernetesVersion(request.config.compat), nodelet: nodeletVersion() },
  };
}

/** One attempt after the other until the API runs. */
class OwnApiAttempts implements OwnApi {
  readonly problem = new Cell<string | undefined>(undefined);
  readonly cluster: ClusterOptions;
  readonly #options: LocalApiOptions;
  readonly #request: AccessRequest;
  readonly #deps: OwnApiDeps;
  readonly #file: StateFile;
  readonly #transport = new DeferredTransport(() => this.#reason());
  readonly #heartbeat = new DeferredTransport(() => this.#reason());
  readonly #running = new Cell<{ readonly api: LocalApi; readonly to: ClusterOptions } | undefined>(
    undefined,
  );

  constructor(options: LocalApiOptions, request: AccessRequest, deps: OwnApiDeps) {
    this.#options = options;
    this.#request = request;
    this.#deps = deps;
    const holds = "objects; static pods and running pods are managed, kubectl is not served";
    this.#file = { name: "local_api", path: options.folder, holds };
    this.cluster = {
      ...clusterFacts(request),
      transport: this.#transport,
      heartbeatTransport: this.#heartbeat,
      keepFresh: async (signal) => {
        await until(this.#running, (running) => running !== undefined, signal);
        await this.#running.get()?.to.keepFresh?.(signal);
      },
    };
  }

  isBrokenPod(namespace: string, name: string): boolean {
    return this.#running.get()?.api.isBrokenPod(namespace, name) ?? false;
  }

  async once(signal: AbortSignal): Promise<void> {
    const { outside, scope, state } = this.#deps;
    const { clock, log } = outside;
    const own = new TaskScope("local API", { clock, log });
    try {
      const api = await this.#start(own);
      const flags = { ...this.#request.flags, kubeconfig: api.nodeKubeconfigPath };
      const to = await openCluster({ ...this.#request, flags }, outside);
      if (!to) throw new InvariantError("the local API has no kubeconfig for the agent");
      this.#transport.provide(to.transport);
      this.#heartbeat.provide(to.heartbeatTransport ?? to.transport);
      this.#running.set({ api, to });
      this.problem.set(undefined);
      state.settle(this.#file);
      scope.defer("local API", () => own[Symbol.asyncDispose]());
    } catch (error) {
      await own[Symbol.asyncDispose]();
      signal.throwIfAborted();
      const why = messageOf(error);
      state.note(this.#file, { kind: "refused", why });
      this.problem.set(why);
    }
  }

  async untilRunning(signal: AbortSignal): Promise<void> {
    for (let failures = 1; this.problem.get() !== undefined; failures += 1) {
      await this.#deps.outside.clock.sleep(retryDelayMs(failures, RETRY), signal);
      await this.once(signal);
    }
  }

  async #start(scope: TaskScope): Promise<LocalApi> {
    // Only a node that has one pays for it.
    const [{ startLocalApi }, { openDatabase }] = await Promise.all([
      import("../localapi/localapi.ts"),
      import("../outside/database/database.ts"),
    ]);
    const { state, outside } = this.#deps;
    const { clock, random, log, host, serving } = outside;
    const { files, podFiles } = host;
    const world = { clock, random, log, files, podFiles, listen: serving.listen };
    const handlers = await readHandlers(files, this.#options.folder);
    const options = { ...this.#options, ...(handlers ? { runtimeHandlers: handlers } : {}) };
    return await startLocalApi(options, { ...world, state, openDatabase, scope });
  }

  #reason(): string {
    return `the local API is not running: ${this.problem.get() ?? "it is being started"}`;
  }
}

/** What `up` wrote; undefined when nobody did. Throws `OutsideError` for a file that is no list of names. */
async function readHandlers(
  files: Pick<Files, "readText">,
  folder: string,
): Promise<readonly string[] | undefined> {
  const path = `${folder}/${RUNTIME_HANDLERS_FILE}`;
  const text = await files.readText(path, { maxBytes: MAX_HANDLERS_BYTES });
  if (text === undefined) return undefined;
  const names = parseNames(text);
  if (names === undefined) throw new OutsideError("invalid", `${path}: not a JSON list of names`);
  return names;
}

function parseNames(text: string): readonly string[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isNames = Array.isArray(value) && value.every((name) => typeof name === "string");
    return isNames ? value : undefined;
  } catch {
    return undefined;
  }
}
