/** Waits for the files that kubeadm writes for the kubelet, as the unit of the kubelet does by being restarted. */
import { existsSync, mkdirSync, readFileSync, watch } from "node:fs";
import { dirname } from "node:path";
import { KUBEADM_FILES, kubeletArguments } from "../places.ts";

/**
 * Resolves with the agent's flags as soon as kubeadm has written its configuration and a kubeconfig; empty when `signal` is
 * aborted before.
 */
export async function awaitKubeletFiles(signal: AbortSignal): Promise<readonly string[]> {
  const folders = [KUBEADM_FILES.kubeletRoot, dirname(KUBEADM_FILES.kubeconfig)];
  for (const folder of folders) mkdirSync(folder, { recursive: true, mode: 0o755 });
  await new Promise<void>((resolve) => {
    if (signal.aborted) return resolve();
    const watchers = folders.map((folder) => watch(folder, () => areThere() && end()));
    const end = () => {
      for (const watcher of watchers) watcher.close();
      signal.removeEventListener("abort", end);
      resolve();
    };
    signal.addEventListener("abort", end, { once: true });
    // What was written before the watches began gives no event.
    if (areThere()) end();
  });
  return signal.aborted ? [] : kubeletArguments(fileText(KUBEADM_FILES.kubeletFlags));
}

/** A new cluster gets the flags before the configuration, a node that joins the other way round: the last one may be half written. */
function areThere(): boolean {
  const { kubeletConfig, kubeletFlags, kubeconfig, bootstrapKubeconfig } = KUBEADM_FILES;
  return (
    [kubeletConfig, kubeletFlags].every((path) => fileText(path).endsWith("\n")) &&
    [kubeconfig, bootstrapKubeconfig].some((path) => existsSync(path))
  );
}

/** The text of a file; empty where there is none. */
export function fileText(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}
