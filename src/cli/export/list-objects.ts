/** The objects that the user has made in the node's own API. */
import { dumpYaml } from "../../api/text/yaml.ts";
import { createSystemClock } from "../../kit/clock.ts";
import { isOutside } from "../../kit/errors.ts";
import { silentLog } from "../../kit/log.ts";
import { createSystemRandom } from "../../kit/random.ts";
import { connectMachine } from "../../outside/connect.ts";
import { connectKube } from "../../outside/kube/connect-kube.ts";
import * as kube from "../../outside/kube/kube.ts";
import { CliError } from "../../present/cli-error.ts";
import { isUsers, portable } from "./portable.ts";

/** An object as the API gives it. */
type ListedObject = Readonly<Record<string, unknown>>;

/** In the order in which they have to be made: what others name comes first. */
const RESOURCES: readonly kube.Resource<object>[] = [
  kube.NAMESPACES,
  kube.PRIORITY_CLASSES,
  kube.RUNTIME_CLASSES,
  kube.SERVICE_ACCOUNTS,
  kube.CONFIG_MAPS,
  kube.SECRETS,
  kube.PERSISTENT_VOLUMES,
  kube.PERSISTENT_VOLUME_CLAIMS,
  kube.SERVICES,
  kube.PODS,
];
const MAX_KUBECONFIG_BYTES = 1024 * 1024;

/**
 * The user's objects, in the order in which they can be made again; `namespace` leaves out what is in others.
 * Throws `CliError` when the API does not answer.
 */
export async function* listUserObjects(
  kubeconfig: string,
  namespace: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<ListedObject> {
  const { client, close } = await connect(kubeconfig);
  try {
    for (const resource of RESOURCES) {
      if (namespace !== undefined && !resource.namespaced) continue;
      const place = namespace === undefined ? {} : { namespace };
      const { items } = await client.list(resource, place, signal);
      for (const item of items) {
        const object = item as unknown as ListedObject;
        if (isUsers(object)) yield object;
      }
    }
  } catch (error) {
    if (!isOutside(error, "unavailable")) throw error;
    throw new CliError("the node's own API does not answer", {
      fix: "start it with: sudo nodelet up --detach",
      cause: error,
    });
  } finally {
    close();
  }
}

/** The object as a YAML document that can be applied elsewhere. */
export function exportedText(object: ListedObject): string {
  return `---\n${dumpYaml(portable(object))}`;
}

async function connect(path: string) {
  const clock = createSystemClock();
  const log = silentLog;
  const { files } = connectMachine(log).host;
  const text = await files.readText(path, { maxBytes: MAX_KUBECONFIG_BYTES });
  if (text === undefined)
    throw new CliError(`there is no file ${path}`, {
      fix: "nodelet up writes it where the node has an API of its own",
    });
  const world = connectKube({ clock, random: createSystemRandom(), log, userAgent: "nodelet" });
  const { endpoint } = await kube.loadEndpoint(kube.readKubeconfig(text, path), {
    files,
    clock,
    log,
    kube: world,
  });
  const transport = world.connect(endpoint);
  const client = new kube.KubeClient({}, { transport, clock, log });
  return { client, close: () => transport.close() };
}
