import { folderOf } from "../../../config/paths.ts";
import { messageOf } from "../../../kit/errors.ts";
import { isMountPoint } from "../../../outside/host/host.ts";
import { CSI_NODE } from "../../../outside/plugins/plugins.ts";
import { CsiError, classOf, failedCall, transient } from "../csi-error.ts";
import type { CsiOrder } from "../csi-order.ts";
import { type CsiVolume, type PodUse, useAfter } from "../csi-volume.ts";
import type { DriverRules } from "../driver-rules.ts";
import { writeVolumeData } from "../volume-data.ts";
import { beginStep, type DriverAbilities } from "../wire/driver-client.ts";
import { groupIsOurs, publishRequest, volumeCapability } from "../wire/requests.ts";
import { podData } from "./stage-volume.ts";
import { askAbilities, type CsiStepDeps } from "./step-deps.ts";

const FOLDER_MODE = 0o750;

type Texts = Readonly<Record<string, string>>;

/**
 * Publishes a volume to a pod (csi_mounter.go SetUpAt, csi_block.go MapPodDevice). Throws `CsiError`; the state of the pod's
 * part follows from what the failure says, and stays "mounted" for one that had it already.
 */
export async function publishVolume(
  volume: CsiVolume,
  order: CsiOrder,
  publishContext: Texts,
  deps: CsiStepDeps,
): Promise<void> {
  const before = volume.pods.get(order.podUid);
  try {
    await publish(order, publishContext, deps);
  } catch (error) {
    deps.signal.throwIfAborted();
    const state = useAfter(before, classOf(error));
    if (state === undefined) volume.pods.delete(order.podUid);
    else setUse(volume, order, { state, isFound: before?.isFound ?? false });
    if (state === undefined) await clearPodFolder(order, order.podUid, deps).catch(() => {});
    throw error;
  }
  const publishedAt = deps.clock.monotonic();
  setUse(volume, order, { state: before?.state ?? "uncertain", isFound: false, publishedAt });
}

function setUse(
  volume: CsiVolume,
  { podUid, specName }: CsiOrder,
  use: Pick<PodUse, "state" | "isFound"> & { readonly publishedAt?: PodUse["publishedAt"] },
): void {
  const publishedAt = use.publishedAt ?? volume.pods.get(podUid)?.publishedAt;
  volume.pods.set(podUid, { specName, state: use.state, isFound: use.isFound, publishedAt });
}

async function publish(order: CsiOrder, publishContext: Texts, deps: CsiStepDeps): Promise<void> {
  const { drivers, rules, cluster, files, clock, paths, signal } = deps;
  const what = order.isBlock ? "blockMapper.MapPodDevice" : "mounter.SetUpAt";
  const calls = drivers.callsOf(order.driver, `${what} failed to get CSI client`);
  const ruling = await rules.of(order.driver, signal);
  checkMode(order, ruling);
  if (order.pod.spec?.securityContext?.fsGroup !== undefined && !ruling.groupPolicy)
    throw transient("expected valid fsGroupPolicy, received nil value or empty string");
  const step = beginStep(clock, signal);
  const able = await askAbilities(calls, step);
  const { target, data, folder, link } = paths.forPod(order, order.podUid);
  await files.makeDirectory(folderOf(target), FOLDER_MODE);
  const secrets = await cluster.secret(order.publishSecret, "NodePublishSecretRef", signal);
  const ofPod = await cluster.ofPod(order, ruling, signal);
  await writeVolumeData(files, data, podData(order, cluster));
  if (order.isBlock) {
    // By the link an agent after this one knows that the pod may have the device.
    await files.makeDirectory(folder, FOLDER_MODE);
    await files.link(target, link);
  }
  const { fsGroup } = order.pod.spec?.securityContext ?? {};
  const capability = volumeCapability(order, {
    multiWriter: able.multiWriter,
    group: able.mountGroup ? fsGroup : undefined,
  });
  const request = publishRequest(order, {
    capability,
    staging: able.stages && !order.isInline ? paths.shared(order).staging : "",
    target,
    secrets: { ...secrets, ...ofPod.secrets },
    publishContext,
    ofPod: ofPod.context,
  });
  await calls.call(CSI_NODE.methods.nodePublishVolume, request, step).catch((error: unknown) => {
    signal.throwIfAborted();
    throw failedCall(error);
  });
  if (!order.isBlock) await giveToGroup(order, target, { able, ruling }, deps);
}

/** The driver serves volumes of this kind, as far as the cluster knows (csi_plugin.go supportsVolumeLifecycleMode). */
function checkMode({ isInline, driver }: CsiOrder, { modes }: DriverRules): void {
  const mode = isInline ? "Ephemeral" : "Persistent";
  if (modes === undefined && !isInline) return;
  const before = `kubernetes.io/csi: mounter.SetUpAt failed to check volume lifecycle mode: volume mode "${mode}" not supported by driver ${driver}`;
  if (modes === undefined) throw transient(`${before} (no CSIDriver object)`);
  if (!modes.includes(mode))
    throw transient(`${before} (only supports [${modes.map((each) => `"${each}"`).join(" ")}])`);
}

async function giveToGroup(
  order: CsiOrder,
  target: string,
  { able, ruling }: { readonly able: DriverAbilities; readonly ruling: DriverRules },
  { volumes, signal }: CsiStepDeps,
): Promise<void> {
  const { fsGroup: group, fsGroupChangePolicy } = order.pod.spec?.securityContext ?? {};
  if (able.mountGroup) return;
  const policy = ruling.groupPolicy ?? "None";
  if (group === undefined || !groupIsOurs(order, { policy, group })) return;
  try {
    await volumes.giveToGroup(target, {
      groupId: group,
      readOnly: false,
      onlyOnMismatch: fsGroupChangePolicy === "OnRootMismatch",
    });
  } catch (error) {
    signal.throwIfAborted();
    throw new CsiError(
      "uncertain",
      `applyFSGroup failed for vol ${order.handle}: ${messageOf(error)}`,
      error,
    );
  }
}

/** Takes a volume away from a pod (csi_mounter.go TearDownAt, csi_block.go UnmapPodDevice). Throws `CsiError`. */
export async function unpublishVolume(
  volume: CsiVolume,
  podUid: string,
  deps: CsiStepDeps,
): Promise<void> {
  const { drivers, volumes, clock, paths, signal } = deps;
  const { specName } = volume.pods.get(podUid) ?? volume;
  const names = { specName, isBlock: volume.isBlock };
  const { target, node } = paths.forPod(names, podUid);
  const what = volume.isBlock ? "blockMapper.TearDownDevice" : "Unmounter.TearDownAt";
  const calls = drivers.callsOf(volume.driver, `${what} failed to get CSI client`);
  if (volume.isBlock) await volumes.unmapDevice(node);
  const request = { volumeId: volume.handle, targetPath: target };
  await calls
    .call(CSI_NODE.methods.nodeUnpublishVolume, request, beginStep(clock, signal))
    .catch((error: unknown) => {
      signal.throwIfAborted();
      throw failedCall(error);
    });
  if (await isMountPoint(deps.volumes, target))
    throw transient(`${target} is still mounted after the driver unpublished the volume`);
  await clearPodFolder(names, podUid, deps);
}

/** Removes the pod's folder of a volume, when nothing is mounted in it. */
async function clearPodFolder(
  names: { readonly specName: string; readonly isBlock: boolean },
  podUid: string,
  deps: CsiStepDeps,
): Promise<void> {
  const { files, paths } = deps;
  const { folder, target, data, link } = paths.forPod(names, podUid);
  if (await isMountPoint(deps.volumes, target)) return;
  await files.remove(target);
  if (names.isBlock) {
    await files.remove(link);
    if (((await files.list(folder)) ?? []).length === 0) await files.remove(folder);
    return;
  }
  await files.remove(data);
  await files.remove(folder);
}
