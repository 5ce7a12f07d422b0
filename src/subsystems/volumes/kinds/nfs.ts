import type { NFSVolumeSource } from "../../../api/generated/types.ts";
import { VOLUME_SOURCES } from "../../../api/pod/volume-sources.ts";
import { wrong } from "../../../api/volume-step.ts";
import { isMountPoint } from "../../../outside/host/host.ts";
import { type KindDeps, type VolumeKind, volumePath } from "../kind.ts";

const FOLDER_MODE = 0o750;

/** Folders of a file server, mounted for one pod (nfs.go). */
export const nfsKind: VolumeKind = {
  plugin: VOLUME_SOURCES.nfs.folder,
  setUp: async (request, deps) => {
    const { nfs } = request.volume;
    if (!nfs) throw wrong("the volume names no file server");
    const target = volumePath(request, VOLUME_SOURCES.nfs.folder);
    const readOnly = nfs.readOnly === true;
    await mountNfs(nfs, { target, options: readOnly ? ["ro"] : [] }, deps);
    return { hostPath: target, readOnly };
  },
};

/** Mounts a folder of a file server; what is mounted at the target already stays as it is. */
export async function mountNfs(
  { server, path }: NFSVolumeSource,
  { target, options }: { readonly target: string; readonly options: readonly string[] },
  { files, volumes }: Pick<KindDeps, "files" | "volumes">,
): Promise<void> {
  // Programs would take it for an option of theirs.
  if (server === "" || server.startsWith("-"))
    throw wrong(`nfs.server ${JSON.stringify(server)} is not the name of a file server`);
  if (!path.startsWith("/"))
    throw wrong(`nfs.path ${JSON.stringify(path)} must be an absolute path`);
  if (await isMountPoint(volumes, target)) return;
  await files.makeDirectory(target, FOLDER_MODE);
  const host = server.includes(":") && !server.startsWith("[") ? `[${server}]` : server;
  try {
    await volumes.mountServer({ source: `${host}:${path}`, target, fsType: "nfs", options });
  } catch (error) {
    await files.remove(target).catch(() => {});
    throw error;
  }
}
