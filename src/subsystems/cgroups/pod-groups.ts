/** Groups of pods and of their containers as they are found in the tree. */
import type { QosClass } from "../../api/pod/qos.ts";
import type { CgroupTree } from "../../outside/host/host.ts";
import { type CgroupDriver, parsePath, podUidOf, QOS_CLASSES } from "./names.ts";

/** A pod's group that is there, whether or not anybody knows the pod. */
export interface FoundPodGroup {
  readonly uid: string;
  readonly qos: QosClass;
  readonly path: string;
}

/** The groups of pods below those of their classes. */
export async function findPodGroups(
  tree: CgroupTree,
  driver: CgroupDriver,
  tierPath: (qos: QosClass) => string,
): Promise<readonly FoundPodGroup[]> {
  const found: FoundPodGroup[] = [];
  for (const qos of QOS_CLASSES) {
    const parent = tierPath(qos);
    for (const child of await tree.children(parent)) {
      const uid = podUidOf(parsePath(child, driver).at(-1) ?? "");
      if (uid !== undefined) found.push({ uid, qos, path: `${parent}/${child}` });
    }
  }
  return found;
}

/**
 * Ends and removes the group that a container or sandbox had below its pod's; resolves with the paths of
 * what was there. Runtimes name it by the id, with the systemd driver `cri-containerd-<id>.scope`.
 */
export async function clearRemoved(
  { tree }: { readonly tree: CgroupTree },
  podPath: string,
  id: string,
): Promise<readonly string[]> {
  const names = await tree.children(podPath);
  const left = names
    .filter((name) => name === id || name.endsWith(`-${id}.scope`))
    .map((name) => `${podPath}/${name}`);
  for (const path of left) await tree.destroy(path);
  return left;
}
