import { isOutside } from "../kit/errors.ts";
import type { Log } from "../kit/log.ts";
import type { Host } from "../outside/host/host.ts";

/**
 * Makes mounts below the agent's root folder seen by containers that mount it with propagation, such as those of CSI
 * drivers (kubelet.go setupDataDirs). Where it may not be done pods run all the same, without propagation.
 */
export async function shareRootFolder(
  rootFolder: string,
  { host, log }: { readonly host: Pick<Host, "volumes">; readonly log: Log },
): Promise<void> {
  try {
    if (await host.volumes.makeShared(rootFolder))
      log.info("root folder mounted on itself, shared", { path: rootFolder });
  } catch (error) {
    if (!isOutside(error)) throw error;
    log.warn("error configuring root directory: mounts below it are not seen by containers", {
      path: rootFolder,
      error,
    });
  }
}
