import type { TaskScope } from "../kit/scope.ts";
import type { LocalApi, LocalApiOptions } from "../localapi/localapi.ts";
import type { Outside } from "../outside/outside.ts";
import type { Serving } from "../outside/serving.ts";
import { agentSocket } from "./socket.ts";
import { KUBERNETES_VERSION, nodeletVersion } from "./version.ts";

/** Names the environment variable with the folder of the node's own API; without it there is none. */
export const API_FOLDER_VARIABLE = "NODELET_API_FOLDER";
/** Names the one with the path of the kubeconfig for people. */
export const API_KUBECONFIG_VARIABLE = "NODELET_API_KUBECONFIG";
/** Names the one with the port; another one is taken when it is in use. */
export const API_PORT_VARIABLE = "NODELET_API_PORT";

const DEFAULT_PORT = 6443;
const HOST = "127.0.0.1";

/** The environment of the process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Starts the API of a node without a cluster, where the environment asks for one. It ends with the scope.
 * Throws `OutsideError` when its folder cannot be used.
 */
export async function startOwnApi(
  env: Environment,
  nodeName: string,
  outside: Outside & { readonly serving: Serving },
  scope: TaskScope,
): Promise<LocalApi | undefined> {
  const folder = env[API_FOLDER_VARIABLE] ?? "";
  if (folder === "") return undefined;
  // Only a node that has one pays for it.
  const [{ startLocalApi }, { openDatabase }] = await Promise.all([
    import("../localapi/localapi.ts"),
    import("../outside/database/database.ts"),
  ]);
  const { clock, random, log, host, serving } = outside;
  const { listen } = serving;
  const deps = { clock, random, log, files: host.files, listen, openDatabase, scope };
  const port = Number(env[API_PORT_VARIABLE] || DEFAULT_PORT);
  const options: LocalApiOptions = {
    folder,
    nodeName,
    address: { host: HOST, port, orAnother: true },
    kubeconfigPath: env[API_KUBECONFIG_VARIABLE] || `${folder}/admin.kubeconfig`,
    agentSocket: agentSocket(env),
    versions: { kubernetes: KUBERNETES_VERSION, nodelet: nodeletVersion() },
  };
  return await startLocalApi(options, deps);
}
