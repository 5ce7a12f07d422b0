import type { Volume } from "../../api/generated/types.ts";
import { CSI_PLUGIN } from "../../api/plugin-paths.ts";
import { type ServedSourceName, servedSourceOf } from "../../api/pod/volume-sources.ts";
import type { VolumeKind } from "./kind.ts";
import { claimKind } from "./kinds/claim.ts";
import { csiKind } from "./kinds/csi.ts";
import { downwardApiKind } from "./kinds/downward-api.ts";
import { emptyDirKind } from "./kinds/empty-dir.ts";
import { hostPathKind } from "./kinds/host-path.ts";
import { imageKind } from "./kinds/image.ts";
import { nfsKind } from "./kinds/nfs.ts";
import { configMapKind, secretKind } from "./kinds/object-files.ts";
import { projectedKind } from "./kinds/projected.ts";

/** The kinds there are, by the field of the volume that asks for each. */
const KINDS: Readonly<Record<ServedSourceName, VolumeKind>> = {
  configMap: configMapKind,
  csi: csiKind,
  downwardAPI: downwardApiKind,
  emptyDir: emptyDirKind,
  ephemeral: claimKind,
  hostPath: hostPathKind,
  image: imageKind,
  nfs: nfsKind,
  persistentVolumeClaim: claimKind,
  projected: projectedKind,
  secret: secretKind,
};

/** The kind of a volume; `undefined` for those that are not supported. */
export function volumeKindOf(volume: Volume): VolumeKind | undefined {
  const name = servedSourceOf(volume);
  return name === undefined ? undefined : KINDS[name];
}

/**
 * Folders below a pod's `volumes` in which we mount: what is mounted elsewhere is not ours to take away. What a CSI driver
 * has mounted the driver takes away.
 */
export const OWN_PLUGINS: ReadonlySet<string> = new Set(
  Object.values(KINDS)
    .map(({ plugin }) => plugin)
    .filter((plugin) => plugin !== CSI_PLUGIN),
);
