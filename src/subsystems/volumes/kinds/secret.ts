import { SECRETS } from "../../../outside/kube/kube.ts";
import { getObject, namespaceOf, type VolumeKind } from "../kind.ts";
import { setUpPayload } from "../payload-volume.ts";
import { DEFAULT_FILE_MODE, type Payload, secretFiles } from "../payloads.ts";
import type { PartOrder } from "./part.ts";

const PLUGIN = "kubernetes.io~secret";

/** Files of a secret; one that is missing and optional gives none. */
export async function secretPayload({
  pod,
  name,
  keys,
  deps,
  signal,
}: PartOrder): Promise<Payload> {
  const place = { namespace: namespaceOf(pod), name };
  const secret = await getObject(deps, SECRETS, place, signal);
  if (secret || keys.optional) return secretFiles(secret ?? {}, keys);
  return { kind: "fault", message: `secret "${name}" not found` };
}

/** Secrets as files, in memory only. */
export const secretKind: VolumeKind = {
  plugin: PLUGIN,
  setUp: (order, deps, signal) => {
    const { secretName: name = "", items, defaultMode, optional } = order.volume.secret ?? {};
    const keys = {
      items,
      defaultMode: defaultMode ?? DEFAULT_FILE_MODE,
      optional: optional === true,
    };
    return setUpPayload(order, deps, {
      plugin: PLUGIN,
      medium: "memory",
      payload: () => secretPayload({ pod: order.pod, name, keys, deps, signal }),
    });
  },
  follows: ({ pod, volume }) => [
    {
      resource: SECRETS,
      namespace: namespaceOf(pod),
      name: volume.secret?.secretName ?? "",
    },
  ],
};
