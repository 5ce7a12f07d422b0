import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Pod } from "../../../src/api/generated/types.ts";
import type { Box } from "../../../test/box/box.ts";
import { TEST_IMAGE } from "../../../test/box/images.ts";
import type { ApiServer } from "../../../test/kube/apiserver.ts";
import { clusterConfig, type Kubelet, KubeletProcess, type KubeletStart } from "../kubelet.ts";
import { benchPod } from "../pods.ts";

/** Name of the node that a kubelet registers. */
export const NODE = "bench-node";
/** Namespace of its pods. */
export const NAMESPACE = "bench";

/** Starts a kubelet as a node of the cluster that runs in its box. */
export async function startClusterNode(
  box: Box,
  server: ApiServer,
  kubelet: Kubelet,
  start: Omit<KubeletStart, "config" | "flags">,
): Promise<KubeletProcess> {
  // Beside the logs of the control plane their folder or the one above it would change all the time, and some kubelets
  // watch both.
  const folder = join(box.folder, "etc", "kubernetes");
  mkdirSync(folder, { recursive: true });
  const [kubeconfig, caFile] = [join(folder, "kubelet.conf"), join(folder, "ca.crt")];
  copyFileSync(await server.nodeKubeconfig(NODE), kubeconfig);
  copyFileSync(server.caFile, caFile);
  return await KubeletProcess.start(box, kubelet, {
    config: clusterConfig(kubelet.minor, caFile),
    // With its address a Go kubelet asks no DNS for its name, for which it would wait 40 s.
    flags: [
      `--kubeconfig=${kubeconfig}`,
      `--hostname-override=${NODE}`,
      `--node-ip=${box.nodeAddress}`,
    ],
    ...start,
  });
}

/** A pod of the bench that is bound to the node. */
export function clusterPod(name: string, options: { readonly probes?: boolean } = {}): Pod {
  const { spec, ...pod } = benchPod(name, TEST_IMAGE, options);
  return { ...pod, spec: { ...spec, containers: spec?.containers ?? [], nodeName: NODE } };
}
