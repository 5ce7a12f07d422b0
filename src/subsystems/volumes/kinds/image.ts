import { VOLUME_SOURCES } from "../../../api/pod/volume-sources.ts";
import type { VolumeKind } from "../kind.ts";

/** An image as a read-only folder; the runtime mounts it when a container is made. */
export const imageKind: VolumeKind = {
  plugin: VOLUME_SOURCES.image.folder,
  setUp: async ({ volume }) => {
    const { reference = "", pullPolicy = "IfNotPresent" } = volume.image ?? {};
    return { hostPath: "", readOnly: true, relabels: true, image: { reference, pullPolicy } };
  },
};
