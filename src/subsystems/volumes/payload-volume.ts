import { isOutside, OutsideError } from "../../kit/errors.ts";
import { isMountPoint } from "../../outside/host/host.ts";
import { type KindDeps, type MadeVolume, type VolumeRequest, volumePath } from "./kind.ts";
import type { Payload } from "./payloads.ts";
import { memorySize } from "./sizes.ts";

const FOLDER_MODE = 0o777;

/** A volume of files that we write: where, on what, and which. */
interface PayloadVolume {
  readonly plugin: string;
  readonly medium: "memory" | "disk";
  /** Asked after the folder is there. */
  readonly payload: () => Promise<Payload>;
}

/**
 * Makes a volume of files or brings it up to date. One that is there already stays as it is while its
 * objects cannot be had, so that containers can be restarted without them.
 */
export async function setUpPayload(
  request: VolumeRequest,
  deps: KindDeps,
  { plugin, medium, payload }: PayloadVolume,
): Promise<MadeVolume> {
  const path = volumePath(request, plugin);
  await ensureFolder(path, medium, request, deps);
  const made = { hostPath: path, readOnly: true, relabels: true } as const;
  const found = await payload().catch((error: unknown): Payload => {
    if (!isOutside(error)) throw error;
    return { kind: "fault", message: error.message };
  });
  if (found.kind === "fault") {
    if (await deps.files.facts(`${path}/..data`)) return { ...made, fault: found.message };
    throw new OutsideError("precondition", found.message);
  }
  const groupId = request.pod.spec?.securityContext?.fsGroup;
  const group = groupId === undefined ? undefined : { groupId, readOnly: true };
  await deps.volumes.writePayload(path, found.files, group);
  return made;
}

/** A folder, with memory mounted on it where that is asked for. */
export async function ensureFolder(
  path: string,
  medium: "memory" | "disk",
  request: VolumeRequest,
  deps: KindDeps,
): Promise<void> {
  const parent = path.slice(0, path.lastIndexOf("/"));
  await deps.files.makeDirectory(parent, 0o755);
  if (await isMountPoint(deps.volumes, path)) return;
  if (!(await deps.files.facts(path))) await deps.files.makeDirectory(path, FOLDER_MODE);
  if (medium === "disk") return;
  const sizeLimit = request.volume.emptyDir?.sizeLimit;
  const limit = sizeLimit === undefined ? {} : { sizeLimit };
  const sizeBytes = memorySize(request.pod, limit, deps.allocatable.memoryBytes);
  await deps.volumes.mountMemory(path, sizeBytes > 0 ? { sizeBytes } : {});
}
