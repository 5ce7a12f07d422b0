/** Takes away what `up` has made, and nothing else. */

import { existsSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { localVolumePaths } from "../../api/plugin-paths.ts";
import { messageOf } from "../../kit/errors.ts";
import { appendAll } from "../../kit/limits/lists.ts";
import type { Host } from "../../outside/host/host.ts";
import { counted, lastLine } from "../../present/text.ts";
import { AGENT_ROOTS, rootNote } from "../../subsystems/neighbors/neighbors.ts";
import { linkTarget } from "../up/command-link.ts";
import {
  EMPTY_HOST_LEDGER,
  fileState,
  type HostLedger,
  ledgerLock,
  writeLedger,
} from "../up/ledger.ts";
import type { UpPaths } from "../up/paths.ts";
import { supervisorLock } from "../up/supervise/supervisor-note.ts";

/** Outcome of a removal. */
export interface RemovalReport {
  /** Paths that are gone, with what they were where that is not plain. */
  readonly removed: string[];
  /** Paths that stay because they are the user's, with the reason. */
  readonly kept: string[];
  /** Paths that could not be removed, with the reason. */
  readonly left: string[];
}

/** How long mounts may stay busy: processes that have been ended close their files a moment later. */
const BUSY_MS = 10_000;
const BUSY_RETRY_MS = 100;

/** Nothing done yet. */
export function newRemoval(): RemovalReport {
  return { removed: [], kept: [], left: [] };
}

/**
 * Takes away mounts that the runtime left in our own folders. The folders themselves may be mounts of the user's; the mount at
 * `kept` stays.
 */
export async function removeMounts(
  paths: Pick<UpPaths, "containerd" | "agentRoot">,
  host: Pick<Host, "volumes">,
  removal: RemovalReport,
  kept?: string,
): Promise<void> {
  const { nodes } = localVolumePaths(paths.agentRoot);
  const own = [paths.containerd.root, paths.containerd.state, paths.agentRoot];
  const found: string[] = [];
  for (const folder of own)
    appendAll(
      found,
      (await host.volumes.mountsWithin(folder))
        .map(({ path }) => path)
        .filter((path) => path !== kept),
    );
  const deadline = performance.now() + BUSY_MS;
  // Deeper mounts keep those above them busy.
  for (const path of found.toSorted((a, b) => b.length - a.length)) {
    try {
      await repeating(deadline, async () => {
        // A device that is shown to a pod is held as well.
        if (path.startsWith(`${nodes}/`)) await host.volumes.unmapDevice(path);
        else await host.volumes.unmount(path);
      });
    } catch (thrown) {
      removal.left.push(`mount ${path}: ${lastLine(messageOf(thrown))}`);
    }
  }
}

/** Repeats what fails until the deadline of `performance.now()`, and throws its last error. */
async function repeating(deadline: number, work: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await work();
      return;
    } catch (thrown) {
      if (performance.now() >= deadline) throw thrown;
      await sleep(BUSY_RETRY_MS);
    }
  }
}

/** Takes away cgroups that were not there before, unless something runs in them. */
export async function removeCgroups(
  ledger: HostLedger,
  host: Host,
  removal: RemovalReport,
): Promise<void> {
  for (const path of ledger.cgroups) {
    const running = await host.cgroups.processes(path);
    if (running.length > 0) {
      removal.left.push(`cgroup ${path}: processes ${running.join(" ")} run in it`);
      continue;
    }
    try {
      await host.cgroups.destroy(path);
    } catch (thrown) {
      removal.left.push(`cgroup ${path}: ${messageOf(thrown)}`);
    }
  }
}

/** Takes away files that `up` wrote into the user's folders; changed ones stay unless everything goes. */
export function removeFiles(
  paths: UpPaths,
  ledger: HostLedger,
  removal: RemovalReport,
  purge: boolean,
): void {
  for (const path of Object.keys(ledger.files)) {
    if (path.startsWith(`${paths.stateDir}/`)) continue;
    const state = fileState(ledger, path);
    if (state === "absent") continue;
    if (state === "changed" && !purge) removal.kept.push(`${path} (you changed it)`);
    else {
      rmSync(path, { force: true });
      removal.removed.push(path);
    }
  }
  if (!purge) return;
  for (const path of [paths.config, ...entriesOf(paths.manifests)]) {
    if (!existsSync(path)) continue;
    rmSync(path, { recursive: true, force: true });
    removal.removed.push(path);
  }
}

/** Takes away links that still lead where `up` has led them. */
export function removeLinks({ links }: Pick<HostLedger, "links">, removal: RemovalReport): void {
  for (const [path, target] of Object.entries(links)) {
    if (linkTarget(path) !== target) continue;
    rmSync(path, { force: true });
    removal.removed.push(path);
  }
}

/** Folders that `up` created, and images to keep. */
interface MadeFolders {
  readonly paths: UpPaths;
  readonly ledger: HostLedger;
  /** References of images that the user brought and that stay. */
  readonly keptImages: readonly string[];
}

/** Takes away our own folders with all that is in them, and the shared ones that have become empty. */
export async function removeFolders(
  { paths, ledger, keptImages }: MadeFolders,
  host: Host,
  removal: RemovalReport,
): Promise<void> {
  const { stateDir, runDir, logDir, containerd } = paths;
  const keepsStore = keptImages.length > 0 && existsSync(containerd.root);
  if (keepsStore)
    removal.kept.push(
      `${containerd.root} (${counted(keptImages.length, "image")} that you loaded or pulled; down --images removes them)`,
    );
  // kubeadm's folder of the kubelet may have been there before, even as a mount.
  const roots =
    ledger.cluster === undefined || ledger.folders.includes(paths.agentRoot)
      ? [paths.agentRoot]
      : entriesOf(paths.agentRoot);
  const trees: readonly (readonly [path: string, what: string])[] = [
    ...(keepsStore ? [] : [[containerd.root, "containerd's images and containers"] as const]),
    [join(stateDir, "cni"), "the pods' network"],
    [join(stateDir, "kubeadm"), ""],
    [containerd.config, ""],
    ...roots.map((path) => [path, "folders of pods, journal of decisions"] as const),
    [paths.api, "the objects of the node's own API"],
    [paths.volumes, "the data of persistent volume claims"],
    [paths.kubeconfig, ""],
    [containerd.state, ""],
    [paths.agentSocket, ""],
    [rootNote(paths.agentRoot), ""],
    ...[
      "agent.log",
      "agent.log.1",
      "containerd.log",
      "containerd.log.1",
      "up.log",
      "up.log.1",
      "kubeadm.log",
    ].map((name) => [join(logDir, name), ""] as const),
  ];
  for (const [path, what] of trees) await removeTree(path, what, host, removal);
  if (removal.left.length > 0) return;
  if (keepsStore)
    writeLedger(paths.ledger, {
      ...EMPTY_HOST_LEDGER,
      folders: ledger.folders,
      userImages: keptImages,
    });
  else rmSync(paths.ledger, { force: true });
  for (const path of [paths.supervisor, supervisorLock(paths), ledgerLock(paths.ledger)])
    rmSync(path, { force: true });
  removeEmpty(AGENT_ROOTS, removal);
  for (const folder of [...ledger.folders].reverse()) removeEmpty(folder, removal);
  for (const folder of [stateDir, runDir, logDir, dirname(paths.config)]) {
    const entries = ledger.folders.includes(folder)
      ? entriesOf(folder).filter(
          (path) => !keepsStore || ![paths.ledger, containerd.root].includes(path),
        )
      : [];
    if (entries.length > 0) removal.kept.push(`${folder} (holds ${entries.join(", ")})`);
  }
}

async function removeTree(
  path: string,
  what: string,
  host: Host,
  removal: RemovalReport,
): Promise<void> {
  if (!existsSync(path)) return;
  try {
    const { podFiles } = host;
    const isFolder = (await podFiles.facts(path))?.kind === "directory";
    await (isFolder ? podFiles.removeTree(path) : podFiles.remove(path));
    removal.removed.push(what === "" ? path : `${path} (${what})`);
  } catch (thrown) {
    removal.left.push(`${path}: ${messageOf(thrown)}`);
  }
}

/** Removes a folder that is not used any more. */
function removeEmpty(folder: string, removal: RemovalReport): void {
  try {
    rmdirSync(folder);
    removal.removed.push(folder);
  } catch {
    // Gone already, or in use.
  }
}

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch {
    return [];
  }
}
