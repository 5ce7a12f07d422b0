/** What an upgrade leaves whose command was killed: a kubeadm that goes on by itself, and manifests that it has moved away. */
import { copyFileSync, existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileNamesIn } from "../../process/programs.ts";
import { KUBEADM_FILES, kubeadmPlaces } from "../control-plane/places.ts";
import { endOrphanedKubeadm } from "../control-plane/run-kubeadm.ts";
import type { UpPaths } from "../up/paths.ts";

const BACKUP = /^kubeadm-backup-manifests-[\d-]+$/;

/** Ends the kubeadm of an upgrade that was interrupted, and puts back what would be missing for ever. */
export async function settleInterrupted(
  paths: Pick<UpPaths, "stateDir">,
  print: (text: string) => void,
): Promise<void> {
  const { running } = kubeadmPlaces(paths);
  if (!existsSync(running)) return;
  print("an earlier run was interrupted: going on from what it left");
  await endOrphanedKubeadm(running, () => {
    for (const name of restoreMoved(KUBEADM_FILES.folder))
      print(`put back ${name}, which kubeadm had moved away to replace it`);
  });
}

/**
 * Puts manifests of kubeadm's latest backup back that are no longer among the static pods: kubeadm moves the old one away before
 * it places the new one (cmd/kubeadm/app/phases/upgrade/staticpods.go). `folder` is `/etc/kubernetes`; gives the file names.
 */
export function restoreMoved(folder: string): readonly string[] {
  const kept = join(folder, "tmp");
  const latest = fileNamesIn(kept)
    .filter((name) => BACKUP.test(name))
    .sort()
    .at(-1);
  if (latest === undefined) return [];
  const manifests = join(folder, "manifests");
  const moved = fileNamesIn(join(kept, latest)).filter(
    (name) => name.endsWith(".yaml") && !existsSync(join(manifests, name)),
  );
  for (const name of moved) {
    // The agent must not read half of it.
    const copy = join(kept, `nodelet-${name}`);
    rmSync(copy, { force: true });
    copyFileSync(join(kept, latest, name), copy);
    renameSync(copy, join(manifests, name));
  }
  return moved;
}
