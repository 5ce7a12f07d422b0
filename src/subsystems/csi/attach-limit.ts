import { GRPC_STATUS } from "../../outside/grpc/status.ts";
import type { CsiVolume } from "./csi-volume.ts";
import type { CsiStepDeps } from "./steps/step-deps.ts";

/**
 * Whether a volume that a pod waits for cannot be attached since its driver can have no more volumes here. Only drivers
 * whose number of volumes is updated (`nodeAllocatableUpdatePeriodSeconds`) count, and they are asked for it again at once,
 * so that the scheduler knows (volume_manager.go). What cannot be found out is no limit.
 */
export async function exceedsAttachLimit(
  volumes: readonly CsiVolume[],
  podUid: string,
  { cluster, drivers, rules, log }: Pick<CsiStepDeps, "cluster" | "drivers" | "rules" | "log">,
  signal: AbortSignal,
): Promise<boolean> {
  for (const volume of volumes) {
    if (!volume.wanted.has(podUid) || volume.pods.has(podUid) || volume.attachable !== true)
      continue;
    const { driver } = volume;
    if (!rules.known(driver)?.allocatableSeconds) continue;
    if ((await cluster.attachFailure(volume, signal)) !== GRPC_STATUS.ResourceExhausted) continue;
    await drivers.refresh(driver).catch((error: unknown) => {
      signal.throwIfAborted();
      log.warn("failed to ask a driver how many volumes it can have", { driver, error });
    });
    return true;
  }
  return false;
}
