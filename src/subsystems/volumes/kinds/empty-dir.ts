import { VOLUME_SOURCES } from "../../../api/pod/volume-sources.ts";
import { OutsideError } from "../../../kit/errors.ts";
import { isMountPoint } from "../../../outside/host/host.ts";
import { type KindDeps, type VolumeKind, type VolumeRequest, volumePath } from "../kind.ts";
import { ensureFolder } from "../payload-volume.ts";
import { hugePagesOf } from "../sizes.ts";

const PLUGIN = VOLUME_SOURCES.emptyDir.folder;
const MODE = 0o777;

/** Says that a volume is made, in a folder of the pod's own (volume/util SetReady). */
const READY = "ready";
const READY_FOLDER_MODE = 0o750;
const READY_MODE = 0o640;

/**
 * An empty folder for as long as the pod lives: on disk, in memory or of huge pages. What is made already is
 * left alone: its content belongs to the containers, with the owners and rights that they gave it.
 */
export const emptyDirKind: VolumeKind = {
  plugin: PLUGIN,
  setUp: async (request, deps) => {
    const path = volumePath(request, PLUGIN);
    const made = { hostPath: path, readOnly: false, relabels: true } as const;
    const medium = request.volume.emptyDir?.medium ?? "";
    if (await isReady(path, medium, request, deps)) return made;
    const isNew = !(await deps.files.facts(path));
    if (medium === "" || medium === "Memory")
      await ensureFolder(path, medium === "" ? "disk" : "memory", request, deps);
    else await ensureHugePages(path, medium, request, deps);
    if (isNew && medium === "") await deps.files.makeDirectory(path, modeOf(request, deps));
    const { fsGroup } = request.pod.spec?.securityContext ?? {};
    if (fsGroup !== undefined)
      await deps.volumes.giveToGroup(path, { groupId: fsGroup, readOnly: false });
    await deps.files.makeDirectory(readyFolder(request), READY_FOLDER_MODE);
    await deps.files.writeAtomic(`${readyFolder(request)}/${READY}`, "", READY_MODE);
    return made;
  },
};

/** In memory and of huge pages the folder is hidden by the mount, as with the Go kubelet: the mode is without effect. */
function modeOf({ volume }: VolumeRequest, { emptyDirModes = false }: KindDeps): number {
  return (emptyDirModes ? volume.emptyDir?.mode : undefined) ?? MODE;
}

const readyFolder = ({ plugins, volume }: VolumeRequest): string =>
  `${plugins}/${PLUGIN}/${volume.name}`;

/** A volume in memory is lost when the node restarts, whatever its record says. */
async function isReady(
  path: string,
  medium: string,
  request: VolumeRequest,
  { files, volumes }: KindDeps,
): Promise<boolean> {
  if (!(await files.facts(`${readyFolder(request)}/${READY}`))) return false;
  if (medium === "") return (await files.facts(path)) !== undefined;
  return await isMountPoint(volumes, path);
}

async function ensureHugePages(
  path: string,
  medium: string,
  { pod }: VolumeRequest,
  { files, volumes }: KindDeps,
): Promise<void> {
  const pages = hugePagesOf(pod, medium);
  if (pages.kind === "fault") throw new OutsideError("precondition", pages.message);
  await files.makeDirectory(path, MODE);
  if (!(await isMountPoint(volumes, path))) await volumes.mountHugePages(path, pages);
}
