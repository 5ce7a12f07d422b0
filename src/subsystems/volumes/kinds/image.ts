import type { VolumeKind } from "../kind.ts";

/** An image as a read-only folder; the runtime mounts it when a container is made. */
export const imageKind: VolumeKind = {
  plugin: "kubernetes.io~image",
  setUp: async ({ volume }) => {
    const { reference = "", pullPolicy = "IfNotPresent" } = volume.image ?? {};
    return { hostPath: "", readOnly: true, image: { reference, pullPolicy } };
  },
};
