import type { ConfigMap, KeyToPath, Secret, Volume } from "../../../api/generated/types.ts";
import { VOLUME_SOURCES } from "../../../api/pod/volume-sources.ts";
import {
  CONFIG_MAPS,
  type KubeObject,
  type Resource,
  SECRETS,
} from "../../../outside/kube/kube.ts";
import { getObject, namespaceOf, type VolumeKind } from "../kind.ts";
import { setUpPayload } from "../payload-volume.ts";
import {
  configMapFiles,
  DEFAULT_FILE_MODE,
  type KeySelection,
  type Payload,
  secretFiles,
} from "../payloads.ts";
import type { PartRequest } from "./part.ts";

/** Objects whose keys become files. */
interface FileObjects<T extends KubeObject> {
  readonly resource: Resource<T>;
  /** As messages name one. */
  readonly word: string;
  readonly plugin: string;
  /** Medium of the files, as in the Go kubelet: secrets never reach a disk. */
  readonly medium: "disk" | "memory";
  readonly files: (object: Partial<T>, keys: KeySelection) => Payload;
  readonly source: (volume: Volume) => FileSource;
}

/** Event texts of a volume about the object it shows. */
interface FileSource {
  readonly name: string | undefined;
  readonly items?: readonly KeyToPath[] | undefined;
  readonly defaultMode?: number | undefined;
  readonly optional?: boolean | undefined;
}

const CONFIG_MAP_FILES: FileObjects<ConfigMap> = {
  resource: CONFIG_MAPS,
  word: "configmap",
  plugin: VOLUME_SOURCES.configMap.folder,
  medium: "disk",
  files: configMapFiles,
  source: ({ configMap }) => ({ ...configMap, name: configMap?.name }),
};

const SECRET_FILES: FileObjects<Secret> = {
  resource: SECRETS,
  word: "secret",
  plugin: VOLUME_SOURCES.secret.folder,
  medium: "memory",
  files: secretFiles,
  source: ({ secret }) => ({ ...secret, name: secret?.secretName }),
};

/** Files of a config map; one that is missing and optional gives none. */
export const configMapPayload = (request: PartRequest): Promise<Payload> =>
  payloadOf(CONFIG_MAP_FILES, request);

/** Files of a secret; one that is missing and optional gives none. */
export const secretPayload = (request: PartRequest): Promise<Payload> =>
  payloadOf(SECRET_FILES, request);

/** Config maps as files. */
export const configMapKind: VolumeKind = kindOf(CONFIG_MAP_FILES);

/** Secrets as files. */
export const secretKind: VolumeKind = kindOf(SECRET_FILES);

async function payloadOf<T extends KubeObject>(
  { resource, word, files }: FileObjects<T>,
  { pod, name, keys, deps, signal }: PartRequest,
): Promise<Payload> {
  const object = await getObject(deps, resource, { namespace: namespaceOf(pod), name }, signal);
  if (object || keys.optional) return files(object ?? {}, keys);
  return { kind: "fault", message: `${word} "${name}" not found` };
}

function kindOf<T extends KubeObject>(objects: FileObjects<T>): VolumeKind {
  const { resource, plugin, medium, source } = objects;
  return {
    plugin,
    setUp: (request, deps, signal) => {
      const {
        name = "",
        items,
        defaultMode = DEFAULT_FILE_MODE,
        optional,
      } = source(request.volume);
      const keys = { items, defaultMode, optional: optional === true };
      const part = { pod: request.pod, name, keys, deps, signal };
      return setUpPayload(request, deps, {
        plugin,
        medium,
        payload: () => payloadOf(objects, part),
      });
    },
    follows: ({ pod, volume }) => [
      { resource, namespace: namespaceOf(pod), name: source(volume).name ?? "" },
    ],
  };
}
