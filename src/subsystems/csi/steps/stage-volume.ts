import { folderOf } from "../../../config/paths.ts";
import { messageOf } from "../../../kit/errors.ts";
import { isMountPoint } from "../../../outside/host/host.ts";
import { CSI_NODE } from "../../../outside/plugins/plugins.ts";
import { CsiError, classOf, failedCall, transient } from "../csi-error.ts";
import type { CsiOrder } from "../csi-order.ts";
import { type CsiVolume, deviceAfter } from "../csi-volume.ts";
import { readVolumeData, type VolumeData, writeVolumeData } from "../volume-data.ts";
import { beginStep } from "../wire/driver-client.ts";
import { stageRequest, volumeCapability } from "../wire/requests.ts";
import { askAbilities, type CsiStepDeps } from "./step-deps.ts";

const FOLDER_MODE = 0o750;

type Texts = Readonly<Record<string, string>>;

/**
 * Stages a volume for all pods of the node (csi_attacher.go MountDevice, csi_block.go SetUpDevice). Throws `CsiError`; the
 * volume's state follows from what the failure says.
 */
export async function stageVolume(
  volume: CsiVolume,
  order: CsiOrder,
  publishContext: Texts,
  deps: CsiStepDeps,
): Promise<void> {
  try {
    await stage(order, publishContext, deps);
    volume.device = "staged";
    volume.isFound = false;
  } catch (error) {
    deps.signal.throwIfAborted();
    volume.device = deviceAfter(volume, classOf(error));
    if (volume.device === "none") await clearStaging(order, deps).catch(() => {});
    throw error;
  }
}

async function stage(order: CsiOrder, publishContext: Texts, deps: CsiStepDeps): Promise<void> {
  const { drivers, files, clock, cluster, paths, signal } = deps;
  const doing = order.isBlock
    ? "blockMapper.SetUpDevice failed to get CSI client"
    : "attacher.MountDevice failed to create newCsiDriverClient";
  const calls = drivers.callsOf(order.driver, doing);
  const step = beginStep(clock, signal);
  const able = await askAbilities(calls, step);
  const { staging, stagingData } = paths.shared(order);
  const secrets = able.stages
    ? await cluster.secret(order.stageSecret, "NodeStageSecretRef", signal)
    : {};
  if (order.isBlock && !able.stages) return;
  await makeFolder(deps, staging);
  if (!able.stages) return;
  await writeVolumeData(files, stagingData, stagedData(order, deps));
  const { fsGroup } = order.pod.spec?.securityContext ?? {};
  const capability = volumeCapability(order, {
    multiWriter: able.multiWriter,
    group: able.mountGroup ? fsGroup : undefined,
  });
  const request = stageRequest(order, { capability, staging, secrets, publishContext });
  await calls.call(CSI_NODE.methods.nodeStageVolume, request, step).catch((error: unknown) => {
    signal.throwIfAborted();
    throw failedCall(error);
  });
}

/** A folder that has to be one; what is mounted there already keeps its rights. */
async function makeFolder({ files }: CsiStepDeps, path: string): Promise<void> {
  const facts = await files.facts(path);
  if (facts && facts.kind !== "directory")
    throw new CsiError("final", `${path} is there already and is not a folder: remove it`);
  if (!facts) await files.makeDirectory(path, FOLDER_MODE);
}

/** Of a block volume there is one file for the node and its pods. */
function stagedData(order: CsiOrder, { cluster }: CsiStepDeps): VolumeData {
  const { driver, handle, isBlock } = order;
  const data = { driverName: driver, volumeHandle: handle };
  return isBlock ? podData(order, cluster) : data;
}

/** What a pod's folder says of a volume. */
export function podData(order: CsiOrder, cluster: CsiStepDeps["cluster"]): VolumeData {
  return {
    driverName: order.driver,
    volumeHandle: order.handle,
    specVolID: order.specName,
    nodeName: cluster.nodeName,
    attachmentID: cluster.attachmentOf(order),
    ...(order.isBlock ? {} : { volumeLifecycleMode: order.isInline ? "Ephemeral" : "Persistent" }),
  };
}

/** Undoes `stageVolume` (csi_attacher.go UnmountDevice). Throws `CsiError`. */
export async function unstageVolume(volume: CsiVolume, deps: CsiStepDeps): Promise<void> {
  const { drivers, files, clock, paths, signal } = deps;
  const { staging, stagingData } = paths.shared(volume);
  const data = await readVolumeData(files, stagingData);
  const isThere = (await files.facts(staging)) !== undefined;
  if (data && (isThere || !volume.isBlock)) {
    const calls = drivers.callsOf(
      volume.driver,
      "attacher.UnmountDevice failed to create newCsiDriverClient",
    );
    const step = beginStep(clock, signal);
    const { stages } = await askAbilities(calls, step);
    if (stages) {
      const request = { volumeId: volume.handle, stagingTargetPath: staging };
      await calls
        .call(CSI_NODE.methods.nodeUnstageVolume, request, step)
        .catch((error: unknown) => {
          signal.throwIfAborted();
          throw failedCall(error);
        });
    }
  }
  if (await isMountPoint(deps.volumes, staging))
    throw transient(`${staging} is still mounted after the driver unstaged the volume`);
  await clearStaging(volume, deps);
}

/** Removes the folders of the shared part; what is mounted stays. */
async function clearStaging(
  volume: Pick<CsiOrder, "driver" | "handle" | "specName" | "isBlock">,
  deps: CsiStepDeps,
): Promise<void> {
  const { files, paths, log } = deps;
  const { staging, stagingData, nodes, published } = paths.shared(volume);
  if (await isMountPoint(deps.volumes, staging)) return;
  try {
    if (volume.isBlock) {
      if (((await files.list(nodes)) ?? []).length > 0) return;
      await files.removeTree(staging);
      await files.removeTree(folderOf(nodes));
      await files.remove(published);
      return;
    }
    await files.remove(staging);
    await files.remove(stagingData);
    await files.remove(folderOf(staging));
  } catch (error) {
    // The driver's own files are left to the driver.
    log.warn("failed to remove the folder of a staged volume", {
      volume: volume.specName,
      path: staging,
      error: messageOf(error),
    });
  }
}
