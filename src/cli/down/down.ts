/** `nodelet down`: ends the pods, each with its own grace, then takes away what `up` has made. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../kit/errors.ts";
import { appendAll } from "../../kit/limits/lists.ts";
import { silentLog } from "../../kit/log.ts";
import { connectMachine } from "../../outside/connect.ts";
import type { Host } from "../../outside/host/host.ts";
import { CliError } from "../../present/cli-error.ts";
import { EXIT_FAILURE, EXIT_OK } from "../../present/exit-codes.ts";
import { packageRoot } from "../../process/package-root.ts";
import type { CommandContext } from "../context.ts";
import { claimStop, endAgent } from "../control-plane/end-agent.ts";
import { installedPaths } from "../control-plane/installed-paths.ts";
import { removeNodeService } from "../control-plane/node-service.ts";
import { KUBEADM_FILES, kubeadmPlaces } from "../control-plane/places.ts";
import { removeEtcdMember, resetCluster } from "../control-plane/reset-cluster.ts";
import { endOrphanedKubeadm } from "../control-plane/run-kubeadm.ts";
import { etcdMembers, findLocalEtcd } from "../etcd/local-etcd.ts";
import { type Io, writeLines } from "../io.ts";
import { removeRoutes } from "../pod-routes/apply-routes.ts";
import { queryRuntime, withRuntime } from "../runtime/query-runtime.ts";
import { restoreKernel } from "../up/kernel-values.ts";
import {
  EMPTY_HOST_LEDGER,
  type HostLedger,
  OpenLedger,
  type RuntimeNote,
  readLedger,
} from "../up/ledger.ts";
import { removeBridge, removeChains } from "../up/network-traces.ts";
import type { UpPaths } from "../up/paths.ts";
import { isRunning } from "../up/processes.ts";
import { resumeContainerd, shimsOf } from "../up/runtime/own-containerd.ts";
import { BRIDGE, CLUSTER_BRIDGE } from "../up/runtime/pod-network.ts";
import { refuseWhileStopping } from "../up/supervise/supervisor-note.ts";
import { drainPods, type NodeStopRequest } from "./drain.ts";
import { endContainerd } from "./end-containerd.ts";
import { confirmRemoval, previewRemoval } from "./preview.ts";
import { imagesWithout, removeImages } from "./remove-images.ts";
import {
  newRemoval,
  type RemovalReport,
  removeCgroups,
  removeFiles,
  removeFolders,
  removeLinks,
  removeMounts,
} from "./remove-made.ts";

/** The user's request. */
interface DownRequest extends NodeStopRequest {
  /** Also the user's manifests and configuration. */
  readonly purge: boolean;
  /** Also the images that the user loaded or pulled. */
  readonly images: boolean;
  /** Do not ask. */
  readonly yes: boolean;
}

/** Runs `down`; resolves with the exit code. */
export async function runDown(request: DownRequest, context: CommandContext): Promise<number> {
  const { purge } = request;
  const { io } = context;
  if (process.getuid?.() !== 0) {
    throw new CliError("permission denied: only root can stop pods", { fix: "sudo nodelet down" });
  }
  const print = (text: string) => writeLines(io.stdout, [text]);
  const { host } = connectMachine(silentLog);
  refuseWhileStopping(request.paths);
  const ledger = readLedger(request.paths.ledger);
  const { paths, isCluster } = installedPaths(request.paths);
  if (ledger !== undefined && !(await mayRemove(ledger, request, context))) {
    print("Nothing was removed.");
    return EXIT_FAILURE;
  }
  await endOrphanedKubeadm(kubeadmPlaces(paths).running);
  await endAgent(paths, print);
  if (ledger === undefined && !purge) {
    print("Nothing to do: nodelet up has created nothing here.");
    return EXIT_OK;
  }
  using _claim = ledger && claimStop(paths, "down");
  const removal = newRemoval();
  const parts = { request: { ...request, paths }, context, host, print, removal };
  const joined = ledger?.cluster?.joined === true;
  if (joined || (await hasOtherControlPlanes(paths)))
    await removeEtcdMember({ paths, signal: context.onInterrupt() });
  await endPods(ledger?.runtime, parts);
  if (isCluster && removal.left.length === 0) {
    print(joined ? "Taking the machine out of the cluster" : "Removing the cluster");
    appendAll(removal.left, await resetCluster({ paths, signal: context.onInterrupt() }));
  }
  if (removal.left.length === 0) await endRuntime(ledger ?? EMPTY_HOST_LEDGER, parts);
  if (removal.left.length === 0) await clean(ledger ?? EMPTY_HOST_LEDGER, parts);
  appendAll(removal.kept, packagesOfSetup());
  report(removal, io);
  return removal.left.length === 0 ? EXIT_OK : EXIT_FAILURE;
}

/** Whether others go on with the cluster whose first control plane this is. */
async function hasOtherControlPlanes(paths: UpPaths): Promise<boolean> {
  const cluster = readLedger(paths.ledger)?.cluster;
  if (cluster?.made !== true || !existsSync(KUBEADM_FILES.etcdManifest)) return false;
  const etcd = findLocalEtcd(paths);
  // One whose manifest is damaged cannot be asked; kubeadm reset says what it could not do.
  return etcd !== undefined && (await etcdMembers(etcd)) > 1;
}

/** Prints what is removed; asks for confirmation on a terminal. */
async function mayRemove(
  ledger: HostLedger,
  { paths, images, yes }: DownRequest,
  { io, onInterrupt }: CommandContext,
): Promise<boolean> {
  if (yes || io.stdin.isTTY !== true || io.stdout.isTTY !== true) return true;
  const preview = { paths, ledger, images, signal: onInterrupt() };
  return await confirmRemoval(preview, io, await previewRemoval(preview));
}

interface Parts {
  readonly request: DownRequest;
  readonly context: CommandContext;
  readonly host: Host;
  readonly print: (text: string) => void;
  readonly removal: RemovalReport;
}

/** Ends all pods; those that do not end are `left`. */
async function endPods(runtime: RuntimeNote | undefined, parts: Parts): Promise<void> {
  const { request, context, host, print, removal } = parts;
  const { paths } = request;
  if (runtime === undefined) return;
  if (!(await awaken(runtime, parts))) return;
  const pods = await withRuntime(runtime.socket, (cri, signal) =>
    cri.runtime.listSandboxes({}, signal),
  );
  if (pods.length === 0) return;
  print(
    request.graceSeconds === "own"
      ? "Stopping pods, each with its own grace period"
      : "Stopping pods",
  );
  const left = await drainPods({
    paths,
    runtimeSocket: runtime.socket,
    nodeName: (await host.facts()).hostname.toLowerCase(),
    graceSeconds: request.graceSeconds,
    timeoutMs: request.timeoutMs,
    host,
    print: (text) => print(`  ${text}`),
    interrupt: context.onInterrupt(),
  });
  appendAll(
    removal.left,
    left.map((name) => `${name}: did not stop`),
  );
}

/** Makes sure that the runtime can be asked; resolves with whether there is anything to ask it. */
async function awaken(runtime: RuntimeNote, parts: Parts): Promise<boolean> {
  const { request, print, removal } = parts;
  const { paths } = request;
  const answer = await queryRuntime(runtime.socket);
  if (answer.kind === "answers") return true;
  const why = answer.kind === "silent" ? answer.why : "nothing listens there";
  if (runtime.kind === "found") {
    removal.left.push(`pods on ${runtime.socket}: ${why}; start that containerd and try again`);
    return false;
  }
  // After a reboot nothing of our own containerd runs, and what it noted of pods goes with its folder.
  const running = shimsOf(runtime.socket).length > 0;
  if (!running && !keepsImages(parts)) return false;
  print(
    `Starting containerd again, since ${running ? "containers of it still run" : "its images are kept"}`,
  );
  try {
    await resumeContainerd(paths, new OpenLedger(paths.ledger));
    return true;
  } catch (thrown) {
    removal.left.push(`containers of our containerd: ${messageOf(thrown)}`);
    return false;
  }
}

/** Ends our own containerd; from another's the images that we brought are taken away. */
async function endRuntime(ledger: HostLedger, parts: Parts): Promise<void> {
  const { request, print, removal } = parts;
  const { paths, images: all } = request;
  const runtime = readLedger(paths.ledger)?.runtime ?? ledger.runtime;
  if (runtime === undefined) return;
  if (runtime.kind === "found") {
    const kept = all ? [] : ledger.userImages;
    appendAll(
      removal.kept,
      kept.map((image) => `image ${image} (you loaded or pulled it; down --images removes it)`),
    );
    const images = [...ledger.images, ...(all ? ledger.userImages : [])];
    if (images.length === 0) return;
    const { removed, left } = await withRuntime(runtime.socket, (cri, signal) =>
      removeImages(cri.images, images, signal),
    );
    appendAll(removal.removed, removed);
    appendAll(removal.left, left);
    return;
  }
  const shims = shimsOf(runtime.socket);
  if (shims.length > 0) {
    removal.left.push(
      `containers of our containerd that are no pods: processes ${shims.join(" ")}`,
    );
    return;
  }
  if (runtime.process === undefined || !isRunning(runtime.process)) return;
  if (keepsImages(parts))
    appendAll(removal.left, await keepUserImages(runtime.socket, ledger.userImages));
  print("Stopping containerd");
  if (!(await endContainerd(runtime.process)))
    removal.left.push(`containerd: process ${runtime.process.pid} did not exit`);
}

/** Whether images that the user brought stay in our own containerd's store. */
function keepsImages({ request: { paths, images } }: Parts): boolean {
  return !images && (readLedger(paths.ledger)?.userImages ?? []).length > 0;
}

/** Removes every image that the user has not brought; resolves with those that are left, each with the reason. */
async function keepUserImages(socket: string, kept: readonly string[]): Promise<readonly string[]> {
  return await withRuntime(socket, async (cri, signal) => {
    const others = imagesWithout(await cri.images.listImages(signal), kept);
    return (await removeImages(cri.images, others, signal)).left;
  });
}

async function clean(ledger: HostLedger, { request, host, removal }: Parts): Promise<void> {
  const { paths, purge } = request;
  const { folders, cluster: note } = ledger;
  // kubeadm's folder of the kubelet may have been there before, even as a mount.
  const ownMount = note && !folders.includes(paths.agentRoot) ? paths.agentRoot : undefined;
  await removeMounts(paths, host, removal, ownMount);
  await removeCgroups(ledger, host, removal);
  const { restored, kept } = restoreKernel(ledger.sysctls, host);
  appendAll(removal.removed, restored);
  appendAll(removal.kept, kept);
  const ownRuntime = ledger.runtime?.kind === "own";
  if (ownRuntime) for (const bridge of [BRIDGE, CLUSTER_BRIDGE]) await removeBridge(bridge);
  const makers = ownRuntime ? "agent and CNI plugins" : "agent";
  const { cluster, chainsBefore } = ledger;
  await removeChains(chainsBefore, cluster === undefined ? makers : "cluster and CNI plugins");
  if (cluster !== undefined) await removeRoutes();
  await removeNodeService(ledger, () => removeFiles(paths, ledger, removal, purge));
  removeLinks(ledger, removal);
  const keptImages = request.images ? [] : ledger.userImages;
  await removeFolders({ paths, ledger, keptImages }, host, removal);
}

/** Debian packages that setup has installed: other programs may use them by now. */
function packagesOfSetup(): readonly string[] {
  const file = join(packageRoot(), ".cache", "debian-packages");
  if (!existsSync(file)) return [];
  const names = readFileSync(file, "utf8").trim().split("\n").join(" ");
  return [`Debian packages ${names} (apt-get remove removes them)`];
}

function report({ removed, kept, left }: RemovalReport, io: Io): void {
  const section = (title: string, lines: readonly string[]): readonly string[] =>
    lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`)];
  writeLines(io.stdout, [...section("Removed", removed), ...section("Kept", kept)]);
  writeLines(io.stderr, section("nodelet: failed to remove everything; left:", left));
  if (left.length > 0) return;
  const rest =
    kept.length === 0 ? "nothing of nodelet is running or left" : "nothing of nodelet is running";
  writeLines(io.stdout, [`Done: ${rest}.`]);
}
