import { OutsideError } from "../../../kit/errors.ts";
import { type KindDeps, type VolumeKind, type VolumeOrder, volumePath } from "../kind.ts";
import { ensureFolder } from "../payload-volume.ts";
import { hugePagesOf } from "../sizes.ts";

const PLUGIN = "kubernetes.io~empty-dir";
const MODE = 0o777;

/** An empty folder for as long as the pod lives: on disk, in memory or of huge pages. */
export const emptyDirKind: VolumeKind = {
  plugin: PLUGIN,
  setUp: async (order, deps) => {
    const path = volumePath(order, PLUGIN);
    const medium = order.volume.emptyDir?.medium ?? "";
    const isNew = !(await deps.files.facts(path));
    if (medium === "" || medium === "Memory")
      await ensureFolder(path, medium === "" ? "disk" : "memory", order, deps);
    else await ensureHugePages(path, medium, order, deps);
    if (isNew && medium === "") await deps.files.makeDirectory(path, MODE);
    const { fsGroup } = order.pod.spec?.securityContext ?? {};
    if (fsGroup !== undefined)
      await deps.volumes.giveToGroup(path, { groupId: fsGroup, readOnly: false });
    return { hostPath: path, readOnly: false };
  },
};

async function ensureHugePages(
  path: string,
  medium: string,
  { pod }: VolumeOrder,
  { files, volumes }: KindDeps,
): Promise<void> {
  const pages = hugePagesOf(pod, medium);
  if (pages.kind === "fault") throw new OutsideError("precondition", pages.message);
  await files.makeDirectory(path, MODE);
  const present = (await volumes.mountsWithin(path)).find((mount) => mount.path === path);
  if (!present) await volumes.mountHugePages(path, pages);
}
