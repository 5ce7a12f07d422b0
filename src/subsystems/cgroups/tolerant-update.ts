import { activePods, type PodFacts } from "../../api/pod-facts.ts";
import { isOutside } from "../../kit/errors.ts";
import type { Outside } from "../../outside/outside.ts";
import type { Cgroups } from "../../subsystems/cgroups/cgroups.ts";

/** Inputs of `updateQos`. */
export interface QosUpdateDeps {
  readonly outside: Pick<Outside, "log">;
  readonly cgroups: Pick<Cgroups, "updateQos">;
  readonly podFacts: PodFacts;
}

/**
 * Brings the groups of the QoS classes up to date before the group of a pod is made or changed. A failure is logged only: a
 * best-effort pod that keeps its class above the limit must not stop the starts of others. The groups are updated
 * again with every change of pods and every minute (UpdateQOSCgroups in syncPod).
 */
export async function updateQos({ outside, cgroups, podFacts }: QosUpdateDeps): Promise<void> {
  try {
    await cgroups.updateQos(activePods(podFacts));
  } catch (error) {
    if (!isOutside(error)) throw error;
    outside.log.warn("failed to update the cgroups of QoS classes", { error });
  }
}
