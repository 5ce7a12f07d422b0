// pure
import type {
  DownwardAPIVolumeFile,
  EphemeralVolumeSource,
  ObjectFieldSelector,
  Volume,
  VolumeProjection,
} from "../generated/types.ts";
import { defaultPullPolicy } from "../text/image-reference.ts";
import { roundedResources } from "./resource-defaults.ts";

const FILE_MODE = 0o644;
const TOKEN_EXPIRATION_SECONDS = 3600;
const CEPH_KEYRING = "/etc/ceph/keyring";

/** The version of the fields a selector names. */
export const defaultFieldSelector = (selector: ObjectFieldSelector): ObjectFieldSelector => ({
  ...selector,
  apiVersion: selector.apiVersion || "v1",
});

function defaultDownwardFile(file: DownwardAPIVolumeFile): DownwardAPIVolumeFile {
  return file.fieldRef === undefined
    ? file
    : { ...file, fieldRef: defaultFieldSelector(file.fieldRef) };
}

function defaultProjection(source: VolumeProjection): VolumeProjection {
  const { downwardAPI, serviceAccountToken } = source;
  return {
    ...source,
    ...(downwardAPI?.items === undefined
      ? {}
      : { downwardAPI: { ...downwardAPI, items: downwardAPI.items.map(defaultDownwardFile) } }),
    ...(serviceAccountToken === undefined
      ? {}
      : {
          serviceAccountToken: {
            ...serviceAccountToken,
            expirationSeconds: serviceAccountToken.expirationSeconds ?? TOKEN_EXPIRATION_SECONDS,
          },
        }),
  };
}

function defaultEphemeral(source: EphemeralVolumeSource): EphemeralVolumeSource {
  const template = source.volumeClaimTemplate;
  if (template === undefined) return source;
  const { spec } = template;
  const resources =
    spec.resources === undefined ? {} : { resources: roundedResources(spec.resources) };
  return {
    ...source,
    volumeClaimTemplate: {
      ...template,
      spec: { ...spec, ...resources, volumeMode: spec.volumeMode ?? "Filesystem" },
    },
  };
}

type Change<K extends keyof Volume> = (source: NonNullable<Volume[K]>) => NonNullable<Volume[K]>;

/** Defaults by volume kind. */
const SOURCE_DEFAULTS: { readonly [K in keyof Volume]?: Change<K> } = {
  configMap: (source) => ({ ...source, defaultMode: source.defaultMode ?? FILE_MODE }),
  secret: (source) => ({ ...source, defaultMode: source.defaultMode ?? FILE_MODE }),
  downwardAPI: (source) => ({
    ...source,
    defaultMode: source.defaultMode ?? FILE_MODE,
    ...(source.items === undefined ? {} : { items: source.items.map(defaultDownwardFile) }),
  }),
  projected: (source) => ({
    ...source,
    defaultMode: source.defaultMode ?? FILE_MODE,
    ...(source.sources === undefined ? {} : { sources: source.sources.map(defaultProjection) }),
  }),
  hostPath: (source) => ({ ...source, type: source.type ?? "" }),
  image: (source) => ({
    ...source,
    pullPolicy: source.pullPolicy || defaultPullPolicy(source.reference ?? ""),
  }),
  ephemeral: defaultEphemeral,
  iscsi: (source) => ({ ...source, iscsiInterface: source.iscsiInterface || "default" }),
  rbd: (source) => ({
    ...source,
    pool: source.pool || "rbd",
    user: source.user || "admin",
    keyring: source.keyring || CEPH_KEYRING,
  }),
  azureDisk: (source) => ({
    ...source,
    cachingMode: source.cachingMode ?? "ReadWrite",
    kind: source.kind ?? "Shared",
    fsType: source.fsType ?? "ext4",
    readOnly: source.readOnly ?? false,
  }),
  scaleIO: (source) => ({
    ...source,
    storageMode: source.storageMode || "ThinProvisioned",
    fsType: source.fsType || "xfs",
  }),
};

function changed<K extends keyof Volume>(volume: Volume, key: K): Partial<Volume> {
  const change = SOURCE_DEFAULTS[key];
  const source = volume[key];
  return change === undefined || source === undefined || source === null
    ? {}
    : { [key]: change(source) };
}

/** A volume with what the API fills in; one without any source is an empty directory. */
export function defaultVolume(volume: Volume): Volume {
  const kinds = Object.keys(volume).filter((key) => key !== "name") as (keyof Volume)[];
  if (kinds.every((key) => volume[key] === undefined)) return { ...volume, emptyDir: {} };
  const whole = { ...volume };
  for (const key of kinds) Object.assign(whole, changed(volume, key));
  return whole;
}
