/** The objects that the user has made in the node's own API. */
import { dumpYaml } from "../../api/text/yaml.ts";
import { isOutside } from "../../kit/errors.ts";
import * as kube from "../../outside/kube/kube.ts";
import { CliError } from "../../present/cli-error.ts";
import { connectApi } from "../api-access.ts";
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

/**
 * The user's objects, in the order in which they can be made again; `namespace` leaves out what is in others.
 * Throws `CliError` when the API does not answer.
 */
export async function* listUserObjects(
  kubeconfig: string,
  namespace: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<ListedObject> {
  const { client, close } = await connectApi(
    kubeconfig,
    "nodelet up writes it where the node has an API of its own",
  );
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
