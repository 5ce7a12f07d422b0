import type { PodPaths } from "../../api/pod/pod-paths.ts";
import { OutsideError } from "../../kit/errors.ts";
import type { PodFiles, VolumeFiles } from "../../outside/host/host.ts";
import { OWN_PLUGINS } from "./kinds.ts";

interface TeardownDeps {
  readonly files: PodFiles;
  readonly volumes: VolumeFiles;
  /** Gives back what stays when a pod goes, once nothing of the pod is mounted any more. */
  readonly release: () => Promise<void>;
  /** Has drivers take away what they have mounted for the pod, once nothing is mounted on top of it. */
  readonly unpublish: () => Promise<void>;
}

/**
 * Takes away every mount of ours below a pod's folder and then the folders of its volumes. What is there
 * is read from the kernel, so nothing needs to be remembered over a restart. Mounts of CSI drivers the drivers take
 * away. Those of others (file servers) stay, and then so does the folder: an `OutsideError` "precondition" names the first of them.
 */
export async function tearDown(
  paths: Pick<PodPaths, "directory" | "volumes" | "volumeDevices" | "subPaths">,
  { files, volumes, release, unpublish }: TeardownDeps,
): Promise<void> {
  const mounts = await volumes.mountsWithin(paths.directory);
  // Last made, first taken away: what covers others goes before them.
  for (const { path } of mounts.toReversed()) if (isOwn(path, paths)) await volumes.unmount(path);
  await unpublish();
  const left = mounts.length > 0 ? (await volumes.mountsWithin(paths.directory))[0] : undefined;
  if (left) throw new OutsideError("precondition", `${left.path} is still mounted`);
  // The pod's folder goes last: as long as it is there, an agent that restarts comes here again.
  await release();
  const present = new Set((await files.list(paths.directory))?.map(({ name }) => name));
  for (const path of [paths.volumeDevices, paths.subPaths, paths.volumes])
    if (present.has(path.slice(paths.directory.length + 1))) await files.removeTree(path);
}

/** Beneath a volume of a kind of ours everything counts: a container may have mounted there in its turn. */
function isOwn(
  path: string,
  { volumes, subPaths }: Pick<PodPaths, "volumes" | "subPaths">,
): boolean {
  if (path.startsWith(`${subPaths}/`)) return true;
  if (!path.startsWith(`${volumes}/`)) return false;
  const [plugin = ""] = path.slice(volumes.length + 1).split("/");
  return OWN_PLUGINS.has(plugin);
}
