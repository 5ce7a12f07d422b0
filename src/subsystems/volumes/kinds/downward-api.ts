import { VOLUME_SOURCES } from "../../../api/pod/volume-sources.ts";
import type { VolumeKind } from "../kind.ts";
import { setUpPayload } from "../payload-volume.ts";
import { DEFAULT_FILE_MODE, downwardFiles } from "../payloads.ts";

const PLUGIN = VOLUME_SOURCES.downwardAPI.folder;

/** Fields of the pod as files, which follow its labels and annotations. */
export const downwardApiKind: VolumeKind = {
  plugin: PLUGIN,
  setUp: (request, deps) => {
    const { items, defaultMode = DEFAULT_FILE_MODE } = request.volume.downwardAPI ?? {};
    const { allocatable } = deps;
    return setUpPayload(request, deps, {
      plugin: PLUGIN,
      medium: "memory",
      payload: async () => downwardFiles(request.pod, items, { defaultMode, allocatable }),
    });
  },
  showsPod: () => true,
};
