import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { isOutside } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";

/** What holds the groups of the classes. */
interface QosGroups {
  updateQos(pods: readonly IdentifiedPod[]): Promise<void>;
}

/**
 * Brings the groups of the QoS classes up to date with the active pods. A failure is logged only: a best-effort pod
 * that keeps its class above the limit must not stop the starts of others, and the groups are updated again
 * with every change of pods and every minute (UpdateQOSCgroups in syncPod).
 */
export async function tryUpdateQos(
  cgroups: QosGroups,
  pods: readonly IdentifiedPod[],
  log: Log,
): Promise<void> {
  try {
    await cgroups.updateQos(pods);
  } catch (error) {
    if (!isOutside(error)) throw error;
    log.warn("failed to update the cgroups of QoS classes", { error });
  }
}
