import { folderOf } from "../../../config/paths.ts";
import { messageOf } from "../../../kit/errors.ts";
import { CsiError } from "../csi-error.ts";
import type { CsiOrder } from "../csi-order.ts";
import type { CsiStepDeps } from "./step-deps.ts";

/** A block device that is a pod's. */
interface MappedBlock {
  /** For containers. */
  readonly node: string;
  /** `major:minor`. */
  readonly number: string;
}

/**
 * Holds the device that the driver published. Done twice changes nothing,
 * and says so by events the first time only. Throws `CsiError` "uncertain": the driver has published the volume.
 */
export async function mapBlock(order: CsiOrder, deps: CsiStepDeps): Promise<MappedBlock> {
  const { volumes, paths, events } = deps;
  const { target, node, folder } = paths.forPod(order, order.podUid);
  try {
    const { number, isNew } = await volumes.mapDevice(target, node);
    if (isNew)
      for (const where of [`globalMapPath "${folderOf(node)}"`, `volumeMapPath "${folder}"`])
        events.ofPod(order.pod, {
          type: "Normal",
          reason: "SuccessfulMountVolume",
          message: `MapVolume.MapPodDevice succeeded for volume "${order.specName}" ${where}`,
        });
    return { node, number };
  } catch (error) {
    throw new CsiError("uncertain", messageOf(error), error);
  }
}
