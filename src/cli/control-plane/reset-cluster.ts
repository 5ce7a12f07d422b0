/** Takes the machine out of the cluster that kubeadm made, by kubeadm's own way back. */
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type ClusterNote, readLedger } from "../up/ledger.ts";
import type { UpPaths } from "../up/paths.ts";
import { compatOf } from "./agent-flags.ts";
import { KUBEADM_FILES, kubeadmPlaces } from "./places.ts";
import { runKubeadm } from "./run-kubeadm.ts";

interface Reset {
  readonly paths: UpPaths;
  readonly signal: AbortSignal;
}

/**
 * Has kubeadm remove the node's containers, certificates and data, once the agent has ended. Resolves with what is left, each
 * with the reason; files that were there before the cluster stay.
 */
export async function resetCluster({ paths, signal }: Reset): Promise<readonly string[]> {
  const ledger = readLedger(paths.ledger);
  const note = ledger?.cluster;
  if (ledger === undefined || note === undefined) return [];
  const left: string[] = [];
  const ours = (folder: string) => ledger.folders.includes(folder);
  // Where kubeadm has made nothing, reset would only remove what others have left.
  const isBegun = existsSync(KUBEADM_FILES.certificates);
  if (isBegun && existsSync(note.kubeadm)) {
    // That phase removes the data as well, also what was there before the cluster.
    const skipped = ours(KUBEADM_FILES.etcd) ? [] : ["--skip-phases=remove-etcd-member"];
    const { ok } = await runReset({ paths, signal }, note, skipped);
    if (!ok) left.push(`the cluster: kubeadm reset failed, see ${paths.logDir}/kubeadm.log`);
  } else if (isBegun) left.push(`the cluster: ${note.kubeadm} is gone, which could reset it`);
  for (const folder of [KUBEADM_FILES.folder, KUBEADM_FILES.etcd]) if (ours(folder)) empty(folder);
  return left;
}

/**
 * Takes this machine's etcd out of those of the cluster, while the others can still agree to it; without that they count it as one
 * that has failed. Nothing happens where there is none.
 */
export async function removeEtcdMember({ paths, signal }: Reset): Promise<void> {
  const note = readLedger(paths.ledger)?.cluster;
  const { etcdManifest } = KUBEADM_FILES;
  if (note?.made !== true || !existsSync(etcdManifest)) return;
  // What is missing is reported when the machine is cleaned.
  if (!existsSync(note.kubeadm)) return;
  await runReset({ paths, signal }, note, ["--skip-phases=preflight,cleanup-node"]);
  rmSync(etcdManifest, { force: true });
}

function runReset(
  { paths, signal }: Reset,
  { kubeadm, criSocket, agentFlags = [] }: ClusterNote,
  more: readonly string[],
): ReturnType<typeof runKubeadm> {
  mkdirSync(paths.logDir, { recursive: true, mode: 0o750 });
  return runKubeadm({
    kubeadm,
    argv: ["reset", "--force", `--cri-socket=unix://${criSocket}`, ...more],
    programs: kubeadmPlaces(paths).programs,
    running: kubeadmPlaces(paths).running,
    compat: compatOf(agentFlags),
    log: join(paths.logDir, "kubeadm.log"),
    signal,
  });
}

function empty(folder: string): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder))
    rmSync(join(folder, name), { recursive: true, force: true });
}
