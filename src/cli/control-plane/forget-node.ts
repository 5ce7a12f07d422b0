/** Takes a node that was not made to its end out of its cluster, which would take it for ready for some time yet. */
import { existsSync } from "node:fs";
import { hostname } from "node:os";
import * as kube from "../../outside/kube/kube.ts";
import { connectApi } from "../api-access.ts";
import type { UpPaths } from "../up/paths.ts";
import { endAgent } from "./end-agent.ts";
import { clusterPaths, KUBEADM_FILES, nodeNameIn } from "./places.ts";
import { fileText } from "./waiting/await-kubelet-files.ts";

const DELETE_MS = 10_000;

/** Ends the agent, which would register the node again. What does not work is the next command's to say. */
export async function forgetNode(paths: UpPaths): Promise<void> {
  const { kubeconfig, kubeletFlags } = KUBEADM_FILES;
  if (!existsSync(kubeconfig)) return;
  await endAgent(clusterPaths(paths), () => {});
  try {
    const api = await connectApi(kubeconfig, "kubeadm writes it");
    try {
      const name = nodeNameIn(fileText(kubeletFlags), hostname());
      await api.client.delete(kube.NODES, { name }, {}, AbortSignal.timeout(DELETE_MS));
    } finally {
      api.close();
    }
  } catch {
    // Not every cluster lets a node delete itself.
  }
}
