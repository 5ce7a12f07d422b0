// pure

import type { Volume } from "../generated/types.ts";
import { CSI_PLUGIN, LOCAL_PLUGIN, NFS_PLUGIN } from "../plugin-paths.ts";

/** The kinds of volumes that the API has, by the field of the volume that asks for each. */
export type VolumeSourceName = Exclude<keyof Volume, "name">;

/** A kind of volume that this node makes. */
interface ServedSource {
  /** Folder of its volumes below those of the pod, as the Go kubelet lays them out. */
  readonly folder: string;
  /** Its files lie in that folder and their size is measured. */
  readonly measured: boolean;
}

const LOCAL_CLAIM = { folder: LOCAL_PLUGIN, measured: false } as const;

/** Every kind of volume, and what this node does with it. */
export const VOLUME_SOURCES = {
  awsElasticBlockStore: "unsupported",
  azureDisk: "unsupported",
  azureFile: "unsupported",
  cephfs: "unsupported",
  cinder: "unsupported",
  configMap: { folder: "kubernetes.io~configmap", measured: true },
  csi: { folder: CSI_PLUGIN, measured: false },
  downwardAPI: { folder: "kubernetes.io~downward-api", measured: true },
  emptyDir: { folder: "kubernetes.io~empty-dir", measured: true },
  ephemeral: LOCAL_CLAIM,
  fc: "unsupported",
  flexVolume: "unsupported",
  flocker: "unsupported",
  gcePersistentDisk: "unsupported",
  gitRepo: "unsupported",
  glusterfs: "unsupported",
  hostPath: { folder: "kubernetes.io~host-path", measured: false },
  image: { folder: "kubernetes.io~image", measured: false },
  iscsi: "unsupported",
  nfs: { folder: NFS_PLUGIN, measured: false },
  persistentVolumeClaim: LOCAL_CLAIM,
  photonPersistentDisk: "unsupported",
  portworxVolume: "unsupported",
  projected: { folder: "kubernetes.io~projected", measured: true },
  quobyte: "unsupported",
  rbd: "unsupported",
  scaleIO: "unsupported",
  secret: { folder: "kubernetes.io~secret", measured: true },
  storageos: "unsupported",
  vsphereVolume: "unsupported",
} as const satisfies Readonly<Record<VolumeSourceName, ServedSource | "unsupported">>;

type Sources = typeof VOLUME_SOURCES;

/** The kinds of volumes that this node makes. */
export type ServedSourceName = {
  [K in VolumeSourceName]: Sources[K] extends ServedSource ? K : never;
}[VolumeSourceName];

/** Names of the kinds that this node makes. */
export const SERVED_SOURCES: readonly ServedSourceName[] = (
  Object.keys(VOLUME_SOURCES) as VolumeSourceName[]
).filter((name): name is ServedSourceName => VOLUME_SOURCES[name] !== "unsupported");

/** The kind of a volume; `undefined` for those that this node does not make. */
export function servedSourceOf(volume: Volume): ServedSourceName | undefined {
  return SERVED_SOURCES.find((name) => volume[name] !== undefined);
}
