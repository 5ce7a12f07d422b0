import { CONFIG_MAPS } from "../../../outside/kube/kube.ts";
import { getObject, namespaceOf, type VolumeKind } from "../kind.ts";
import { setUpPayload } from "../payload-volume.ts";
import { configMapFiles, DEFAULT_FILE_MODE, type Payload } from "../payloads.ts";
import type { PartOrder } from "./part.ts";

const PLUGIN = "kubernetes.io~configmap";

/** Files of a config map; one that is missing and optional gives none. */
export async function configMapPayload({
  pod,
  name,
  keys,
  deps,
  signal,
}: PartOrder): Promise<Payload> {
  const place = { namespace: namespaceOf(pod), name };
  const configMap = await getObject(deps, CONFIG_MAPS, place, signal);
  if (configMap || keys.optional) return configMapFiles(configMap ?? {}, keys);
  return { kind: "fault", message: `configmap "${name}" not found` };
}

/** Config maps as files, on disk as the reference keeps them. */
export const configMapKind: VolumeKind = {
  plugin: PLUGIN,
  setUp: (order, deps, signal) => {
    const { name = "", items, defaultMode, optional } = order.volume.configMap ?? {};
    const keys = {
      items,
      defaultMode: defaultMode ?? DEFAULT_FILE_MODE,
      optional: optional === true,
    };
    return setUpPayload(order, deps, {
      plugin: PLUGIN,
      medium: "disk",
      payload: () => configMapPayload({ pod: order.pod, name, keys, deps, signal }),
    });
  },
  follows: ({ pod, volume }) => [
    {
      resource: CONFIG_MAPS,
      namespace: namespaceOf(pod),
      name: volume.configMap?.name ?? "",
    },
  ],
};
