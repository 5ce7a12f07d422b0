import type { ObjectEvents, PodEvents } from "../../../api/ports/events.ts";
import { type VolumeStep, VolumeStepError } from "../../../api/volume-step.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { Log } from "../../../kit/log.ts";
import type { PodFiles, VolumeFiles } from "../../../outside/host/host.ts";
import type { KubeClient } from "../../../outside/kube/kube.ts";
import type { ClusterFacts } from "../cluster-facts.ts";
import { failedCall } from "../csi-error.ts";
import type { CsiPaths } from "../csi-paths.ts";
import type { DriverRuleBook } from "../driver-rules.ts";
import type { RegisteredDrivers } from "../drivers/registered-drivers.ts";
import type { CsiStep, DriverAbilities, DriverCalls } from "../wire/driver-client.ts";

/** What steps on volumes need. */
export interface CsiStepDeps {
  readonly drivers: RegisteredDrivers;
  readonly rules: DriverRuleBook;
  readonly cluster: ClusterFacts;
  /** Absent where there is no API server. */
  readonly client: Pick<KubeClient, "get" | "patch"> | undefined;
  readonly files: PodFiles;
  readonly volumes: VolumeFiles;
  readonly clock: Clock;
  readonly log: Log;
  readonly paths: CsiPaths;
  readonly events: PodEvents & ObjectEvents;
  /** Ends with the agent: a step that was begun goes on although the pod is gone. */
  readonly signal: AbortSignal;
}

/** Names of steps, as events have them: of file systems and of block devices. */
const CSI_STEPS = {
  affinity: ["MountVolume.NodeAffinity check", "MapVolume.NodeAffinity check"],
  attach: ["MountVolume.WaitForAttach", "MapVolume.WaitForAttach"],
  stage: ["MountVolume.MountDevice", "MapVolume.SetUpDevice"],
  publish: ["MountVolume.SetUp", "MapVolume.MapPodDevice"],
  map: ["MountVolume.SetUp", "MapVolume.MapBlockVolume"],
  expand: [
    "MountVolume.Setup failed while expanding volume",
    "MapVolume.MarkVolumeAsMounted failed while expanding volume",
  ],
} as const;

/** The step as events name it. */
export function stepAt(
  step: keyof typeof CSI_STEPS,
  { isBlock, specName }: { readonly isBlock: boolean; readonly specName: string },
): VolumeStep {
  const [mount, map] = CSI_STEPS[step];
  return isBlock
    ? { step: map, volume: specName, reason: "FailedMapVolume" }
    : { step: mount, volume: specName, reason: "FailedMount" };
}

/** The failure with the step at which it came; one that names its step already stays. */
export function failedAt(at: VolumeStep, error: unknown): VolumeStepError {
  return error instanceof VolumeStepError ? error : new VolumeStepError(at, error);
}

/** What the driver can do; asked at each step, since a driver may be another one after a restart. */
export async function askAbilities(calls: DriverCalls, step: CsiStep): Promise<DriverAbilities> {
  try {
    return await calls.abilities(step);
  } catch (error) {
    step.signal.throwIfAborted();
    throw failedCall(error);
  }
}
