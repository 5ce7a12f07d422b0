import { VolumeStepError, VolumeWaits } from "../../../api/volume-step.ts";
import { OutsideError } from "../../../kit/errors.ts";
import type { CsiOrder } from "../csi-order.ts";
import { type CsiVolume, enterStep } from "../csi-volume.ts";
import { growIfRequested } from "./expand-volume.ts";
import { mapBlock } from "./map-block.ts";
import { publishVolume } from "./publish-volume.ts";
import { stageVolume } from "./stage-volume.ts";
import { type CsiStepDeps, failedAt, stepAt } from "./step-deps.ts";

interface MountVolumeDeps extends CsiStepDeps {
  /** Whether a controller attaches volumes; the agent itself attaches none. */
  readonly controllerAttaches: boolean;
  /** Whether the kernel enforces SELinux. */
  readonly hasSelinux: boolean;
}

/** All steps by which a pod gets a volume. Throws `VolumeStepError` with the step that failed. */
export async function mountVolume(
  volume: CsiVolume,
  order: CsiOrder,
  deps: MountVolumeDeps,
): Promise<void> {
  checkSoleUse(volume, order);
  checkLabels(order, deps);
  const context = await publishContext(volume, order, deps);
  if (!volume.isInline && volume.device !== "staged")
    await inStep(volume, order, "stage", () => stageVolume(volume, order, context, deps));
  await inStep(volume, order, "publish", () => publishVolume(volume, order, context, deps));
  if (volume.isBlock) await inStep(volume, order, "map", () => mapBlock(order, deps));
  await inStep(volume, order, "expand", () => growIfRequested(volume, order, deps));
  const use = volume.pods.get(order.podUid);
  if (use) use.state = "mounted";
}

/** Publishes a volume that the pod has once more. */
export async function republishVolume(
  volume: CsiVolume,
  order: CsiOrder,
  deps: MountVolumeDeps,
): Promise<void> {
  const context = await publishContext(volume, order, deps);
  await inStep(volume, order, "publish", () => publishVolume(volume, order, context, deps));
}

/** A volume for one pod only is not given to a second one (operation_generator.go checkForVolumeAccessMode). */
function checkSoleUse(volume: CsiVolume, order: CsiOrder): void {
  const isSole = order.accessModes.length === 1 && order.accessModes[0] === "ReadWriteOncePod";
  if (!isSole || [...volume.pods.keys()].every((uid) => uid === order.podUid)) return;
  const at = stepAt(order.isBlock ? "stage" : "publish", order);
  volume.waitsFor = "other pod";
  const why = "volume uses the ReadWriteOncePod access mode and is already in use by another pod";
  throw new VolumeStepError(at, new OutsideError("precondition", why));
}

/** A pod that insists on mounting with its SELinux label is refused; for all others the runtime labels the files. */
function checkLabels(order: CsiOrder, { hasSelinux, rules }: MountVolumeDeps): void {
  const { spec } = order.pod;
  const insists = spec?.securityContext?.seLinuxChangePolicy === "MountOption";
  if (!hasSelinux || !insists || order.isBlock || order.isInline) return;
  if (rules.known(order.driver)?.mountsLabels !== true) return;
  const why = `driver ${order.driver} mounts with SELinux labels (CSIDriver seLinuxMount) and the pod asks for it (securityContext.seLinuxChangePolicy MountOption), which this agent does not do: set seLinuxChangePolicy to Recursive, and the runtime gives the files the pod's label`;
  throw new VolumeStepError(stepAt("stage", order), new OutsideError("precondition", why));
}

/** What the controller said as it attached the volume. Throws `VolumeWaits` until it has. */
async function publishContext(
  volume: CsiVolume,
  order: CsiOrder,
  { cluster, controllerAttaches, signal }: MountVolumeDeps,
): Promise<Readonly<Record<string, string>>> {
  if (!volume.attachable) return {};
  return await inStep(volume, order, "attach", async () => {
    if (!controllerAttaches)
      throw new OutsideError(
        "precondition",
        "attaching volumes from the kubelet is not supported: set enableControllerAttachDetach to true",
      );
    const found = await cluster.attachment(order, volume, signal);
    if (found.kind === "attached") return found.metadata;
    volume.waitsFor = "controller";
    throw new VolumeWaits(stepAt("attach", order), new OutsideError("precondition", found.why));
  });
}

async function inStep<T>(
  volume: CsiVolume,
  order: CsiOrder,
  step: Parameters<typeof stepAt>[0],
  act: () => Promise<T>,
): Promise<T> {
  const at = stepAt(step, order);
  enterStep(volume, at.step);
  try {
    return await act();
  } catch (error) {
    throw failedAt(at, error);
  }
}
