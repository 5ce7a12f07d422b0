import type { CsiUsage } from "../../../api/ports/csi-volumes.ts";
import { OutsideError } from "../../../kit/errors.ts";
import { CSI_NODE, CSI_USAGE_UNIT } from "../../../outside/plugins/plugins.ts";
import type { CsiOrder } from "../csi-order.ts";
import type { CsiVolume } from "../csi-volume.ts";
import { beginStep } from "../wire/driver-client.ts";
import { askAbilities, type CsiStepDeps } from "./step-deps.ts";

/** Asks the driver for size and use of a pod's volume; `undefined` from one that does not measure (csi_metrics.go). */
export async function measureVolume(
  volume: CsiVolume,
  order: CsiOrder,
  { drivers, clock, paths, signal }: CsiStepDeps,
): Promise<CsiUsage | undefined> {
  if (!drivers.has(volume.driver)) return undefined;
  const calls = drivers.callsOf(volume.driver, "failed to get CSI client");
  const step = beginStep(clock, signal);
  if (!(await askAbilities(calls, step)).measures) return undefined;
  const { target, node } = paths.forPod(order, order.podUid);
  const { usage } = await calls.call(
    CSI_NODE.methods.nodeGetVolumeStats,
    {
      volumeId: volume.handle,
      volumePath: order.isBlock ? node : target,
      stagingTargetPath: "",
    },
    step,
  );
  if (usage.length === 0)
    throw new OutsideError("invalid", `driver ${volume.driver} gave no usage of a volume`);
  const bytes = usage.find(({ unit }) => unit === CSI_USAGE_UNIT.BYTES);
  const inodes = usage.find(({ unit }) => unit === CSI_USAGE_UNIT.INODES);
  return {
    ...(bytes
      ? {
          capacityBytes: Number(bytes.total),
          availableBytes: Number(bytes.available),
          usedBytes: Number(bytes.used),
        }
      : {}),
    ...(inodes
      ? {
          inodes: Number(inodes.total),
          inodesFree: Number(inodes.available),
          inodesUsed: Number(inodes.used),
        }
      : {}),
  };
}
