/** `nodelet etcd restore`: puts the cluster back to a snapshot. */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import type { Pod } from "../../api/generated/types.ts";
import { AgentClient } from "../../client/agent-client.ts";
import { followNode } from "../../client/follow-node.ts";
import { spokenDuration } from "../../present/amounts.ts";
import { CliError } from "../../present/cli-error.ts";
import { EXIT_OK } from "../../present/exit-codes.ts";
import { fileNamesIn } from "../../process/programs.ts";
import type { CommandContext } from "../context.ts";
import { clusterPaths, KUBEADM_FILES } from "../control-plane/places.ts";
import { awaitApi } from "../control-plane/waiting/await-api.ts";
import { writeLines } from "../io.ts";
import type { UpPaths } from "../up/paths.ts";
import { stateOf } from "../up/supervise/viewers.ts";
import { restoreFolder, restorePod } from "./etcd-manifest.ts";
import { etcdMembers, type LocalEtcd, localEtcd } from "./local-etcd.ts";

/** The user's request. */
interface RestoreRequest {
  readonly paths: UpPaths;
  /** Undefined to go on with what was interrupted. */
  readonly file: string | undefined;
  readonly timeoutMs: number;
}

/** What is known while it runs. */
interface Restore {
  readonly request: RestoreRequest;
  readonly etcd: LocalEtcd;
  readonly places: RestorePlaces;
  readonly print: (text: string) => void;
  readonly signal: AbortSignal;
}

interface RestorePlaces {
  /** Manifests of what must not run while the data is exchanged; there is such a folder only then. */
  readonly aside: string;
  /** Below it the new data is made. */
  readonly work: string;
}

const MANIFESTS = KUBEADM_FILES.manifests;
/** The API server first, so that it does not miss its etcd. */
const STOPPED = ["kube-apiserver.yaml", "etcd.yaml"] as const;
const RESTORE_POD = "nodelet-etcd-restore";
const BEFORE = "nodelet-before-";

/** Runs `etcd restore`; resolves with the exit code. */
export async function restoreSnapshot(
  request: RestoreRequest,
  { io, onInterrupt }: CommandContext,
): Promise<number> {
  const paths = clusterPaths(request.paths);
  // On the same file system as the manifests, which are moved there.
  const aside = join(KUBEADM_FILES.folder, "nodelet-restore");
  const began = existsSync(aside);
  const manifest = join(aside, basename(KUBEADM_FILES.etcdManifest));
  const etcd = localEtcd(paths, existsSync(manifest) ? manifest : KUBEADM_FILES.etcdManifest);
  const print = (text: string) => writeLines(io.stderr, [`nodelet: ${text}`]);
  const places = { aside, work: restoreFolder(etcd.facts) };
  const restore = { request, etcd, places, print, signal: onInterrupt() };
  if (began) print("an earlier restore was interrupted: going on with it");
  else await prepare(restore);
  const kept = await exchange(restore);
  print("waiting for the API server");
  const waiting = { timeoutMs: request.timeoutMs, signal: restore.signal };
  await awaitApi(KUBEADM_FILES.adminKubeconfig, waiting);
  writeLines(io.stdout, [
    "The cluster is as the snapshot has it.",
    `  The data before is in ${kept}; remove it when you do not need it.`,
    "  Pods that were made since then are ended, those that are missing are started again.",
  ]);
  return EXIT_OK;
}

/** Makes the new data beside the old; what goes wrong here has changed nothing. */
async function prepare({ request, etcd, places, print, signal }: Restore): Promise<void> {
  const { file, paths, timeoutMs } = request;
  if (file === undefined || !existsSync(file))
    throw new CliError(file === undefined ? "no snapshot is named" : `there is no file ${file}`, {
      fix: "name a file that nodelet etcd snapshot has written",
    });
  await refuseMembers(etcd);
  const { work } = places;
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true, mode: 0o700 });
  copyFileSync(file, join(work, "snapshot.db"));
  chmodSync(join(work, "snapshot.db"), 0o600);
  print("making etcd's data from the snapshot");
  // A pod that has ended is never run again: each attempt has a name of its own.
  const name = `${RESTORE_POD}-${Date.now().toString(36)}`;
  const manifest = join(MANIFESTS, `${RESTORE_POD}.yaml`);
  writeFileSync(manifest, restorePod(etcd.facts, name), { mode: 0o600 });
  let ended: Pod | undefined;
  try {
    await untilPods(paths, timeoutMs, signal, (pods) => {
      ended = pods.find(
        ({ metadata, status }) =>
          metadata?.name?.startsWith(name) === true &&
          ["Succeeded", "Failed"].includes(status?.phase ?? ""),
      );
      return ended !== undefined;
    });
  } finally {
    rmSync(manifest, { force: true });
  }
  if (ended?.status?.phase === "Succeeded" && existsSync(join(work, "data/member"))) return;
  rmSync(work, { recursive: true, force: true });
  throw new CliError(`${file} cannot be restored: ${reasonOf(ended)}`, {
    fix: "nothing was changed; name a file that nodelet etcd snapshot has written",
  });
}

function reasonOf(pod: Pod | undefined): string {
  const state = pod?.status?.containerStatuses?.[0]?.state?.terminated;
  if (pod === undefined) return "its pod did not end in time";
  const logs = join("/var/log/pods", `kube-system_${pod.metadata?.name}_${pod.metadata?.uid}`);
  const log = join(logs, "restore/0.log");
  const lines = existsSync(log) ? readFileSync(log, "utf8").trimEnd().split("\n") : [];
  const last = (lines.at(-1) ?? "").replace(/^\S+ std(?:out|err) [FP] /, "");
  return last === "" ? `etcdutl ended with code ${state?.exitCode ?? "?"}` : last;
}

/** One of several would have other data than the rest. */
async function refuseMembers(etcd: LocalEtcd): Promise<void> {
  const count = await etcdMembers(etcd);
  if (count > 1)
    throw new CliError(`etcd has ${count} members, which all need the same data`, {
      fix: "take the other control planes out with nodelet leave, restore, and let them join again",
    });
}

/** Stops etcd and API server, exchanges the data, and starts them; resolves with where the old data is. */
async function exchange({ request, etcd, places, print, signal }: Restore): Promise<string> {
  const { aside, work } = places;
  const { dataDir } = etcd.facts;
  const { paths, timeoutMs } = request;
  print("stopping API server and etcd");
  mkdirSync(aside, { recursive: true, mode: 0o700 });
  for (const name of STOPPED)
    if (existsSync(join(MANIFESTS, name))) renameSync(join(MANIFESTS, name), join(aside, name));
  await untilPods(paths, timeoutMs, signal, (pods) =>
    STOPPED.every((name) =>
      pods.every(({ metadata }) => !isStatic(metadata?.name, name.replace(/\.yaml$/, ""))),
    ),
  );
  const kept = join(work, "before");
  const restored = join(work, "data/member");
  if (existsSync(restored)) {
    if (existsSync(join(dataDir, "member")) && !existsSync(kept))
      renameSync(join(dataDir, "member"), kept);
    renameSync(restored, join(dataDir, "member"));
  }
  // Not where the next restore begins with an empty folder.
  const old = `${dataDir}/${BEFORE}${Date.now().toString(36)}`;
  if (existsSync(kept)) renameSync(kept, old);
  rmSync(work, { recursive: true, force: true });
  print("starting etcd and API server");
  for (const name of STOPPED.toReversed())
    if (existsSync(join(aside, name))) renameSync(join(aside, name), join(MANIFESTS, name));
  rmSync(aside, { recursive: true });
  // An earlier run may have kept it already.
  const [newest = ""] = fileNamesIn(dataDir)
    .filter((name) => name.startsWith(BEFORE))
    .toSorted()
    .toReversed();
  return join(dataDir, newest);
}

/** The name of a static pod ends with that of its node. */
function isStatic(name: string | undefined, component: string): boolean {
  return name?.startsWith(`${component}-`) === true;
}

/** Resolves when the agent's pods are as `isSo` expects them. Throws `CliError` when that takes too long. */
async function untilPods(
  { agentSocket }: UpPaths,
  timeoutMs: number,
  signal: AbortSignal,
  isSo: (pods: readonly Pod[]) => boolean,
): Promise<void> {
  const done = new AbortController();
  const late = AbortSignal.timeout(timeoutMs);
  await followNode(
    new AgentClient(agentSocket),
    (picture) => {
      if (picture.overview !== undefined && isSo(stateOf(picture).pods)) done.abort();
    },
    AbortSignal.any([signal, late, done.signal]),
  );
  if (done.signal.aborted) return;
  signal.throwIfAborted();
  throw new CliError(`the agent has not done it after ${spokenDuration(timeoutMs)}`, {
    fix: "nodelet get pods shows what it waits for; run the command again to go on",
  });
}
