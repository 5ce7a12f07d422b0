/** The process in the background that keeps a node going: agent, container runtime, and the routes of a cluster's pods. */
import { EXIT_OK } from "../present/exit-codes.ts";
import type { CommandContext } from "./context.ts";
import { installedPaths } from "./control-plane/installed-paths.ts";
import { awaitKubeletFiles } from "./control-plane/waiting/await-kubelet-files.ts";
import { writeLines } from "./io.ts";
import { keepPodRoutes } from "./pod-routes/keep-routes.ts";
import { readLedger } from "./up/ledger.ts";
import type { UpPaths } from "./up/paths.ts";
import { superviseContainerd } from "./up/runtime/own-containerd.ts";
import { superviseAgent } from "./up/supervise/supervise.ts";

/** kubeadm's flags for the agent of a node of a cluster, and the user's. */
async function clusterFlags({ ledger }: UpPaths, leave: AbortSignal): Promise<readonly string[]> {
  const ofKubeadm = await awaitKubeletFiles(leave);
  return [...ofKubeadm, ...(readLedger(ledger)?.cluster?.agentFlags ?? [])];
}

/** The process in the background: keeps agent and runtime running until it is stopped. */
export async function runSupervisor(
  chosen: UpPaths,
  agentFlags: readonly string[],
  context: CommandContext,
): Promise<number> {
  const leave = new AbortController();
  context.onInterrupt().addEventListener("abort", () => leave.abort(), { once: true });
  const print = (text: string) =>
    writeLines(context.io.stderr, [`${new Date(context.io.now()).toISOString()} ${text}`]);
  const { paths, isCluster, podRoutes } = installedPaths(chosen);
  const more = isCluster ? { moreFlags: (end: AbortSignal) => clusterFlags(paths, end) } : {};
  const work = [
    superviseAgent({ paths, agentFlags, print, ...more }, leave.signal),
    superviseContainerd(paths, print, leave.signal),
    ...(podRoutes ? [keepPodRoutes(print, leave.signal)] : []),
  ];
  try {
    await Promise.all(work);
    return EXIT_OK;
  } finally {
    leave.abort();
    await Promise.allSettled(work);
  }
}
