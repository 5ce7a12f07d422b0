import type {
  NFSVolumeSource,
  PersistentVolume,
  PersistentVolumeClaim,
} from "../../../api/generated/types.ts";
import { matchesNodeSelector } from "../../../api/node/node-selector.ts";
import { LOCAL_PLUGIN, NFS_PLUGIN } from "../../../api/plugin-paths.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import { type VolumeStep, VolumeStepError, wrong } from "../../../api/volume-step.ts";
import { messageOf } from "../../../kit/errors.ts";
import type { KindDeps, MadeVolume, VolumeRequest } from "../kind.ts";
import { setUpCsi } from "./csi.ts";
import { checkHostPath } from "./host-path.ts";
import { translatedVolume } from "./in-tree.ts";
import { mountNfs } from "./nfs.ts";

const DEFAULT_FS_TYPE = "ext4";
const OPTIONS_ANNOTATION = "volume.beta.kubernetes.io/mount-options";

/** A persistent volume to set up for a pod. */
interface PersistentVolumeRequest extends VolumeRequest {
  readonly pv: PersistentVolume;
  readonly claim: PersistentVolumeClaim;
  readonly readOnly: boolean;
}

type Made = Pick<
  MadeVolume,
  "hostPath" | "relabels" | "device" | "deviceNumber" | "ages" | "measure" | "measuredBy" | "fault"
>;

/**
 * Makes what a persistent volume stands for: a path of the node, a file system, a block device. Throws
 * `VolumeStepError`.
 */
export async function setUpPersistentVolume(
  given: PersistentVolumeRequest,
  deps: KindDeps,
  signal: AbortSignal,
): Promise<Made> {
  const isBlock = volumeMode(given.pv) === "Block";
  const at = stepOf(given.pv, isBlock ? "MapVolume.MapBlockVolume" : "MountVolume.SetUp");
  try {
    const request = { ...given, pv: translatedVolume(given.pv) };
    const { hostPath, local, csi, nfs } = request.pv.spec ?? {};
    if (csi) {
      checkAffinity(request.pv, deps);
      return await setUpCsi(request, request, deps, signal);
    }
    if (nfs && isBlock)
      throw wrong("spec.volumeMode Block is not possible with spec.nfs: set it to Filesystem");
    if (nfs) {
      checkAffinity(request.pv, deps);
      return await mountServer(request, nfs, deps);
    }
    if (!hostPath && !local)
      throw wrong(`persistent volumes of the kind ${kindOf(request.pv)} are not supported`);
    if (local) return isBlock ? await mapLocal(request, deps) : await mountLocal(request, deps);
    if (isBlock) throw wrong("persistent volumes of the kind hostPath cannot be block devices");
    checkAffinity(request.pv, deps);
    await checkHostPath(deps.files, hostPath ?? { path: "" });
    return { hostPath: hostPath?.path ?? "" };
  } catch (error) {
    throw error instanceof VolumeStepError ? error : new VolumeStepError(at, error);
  }
}

const nameOf = ({ metadata }: PersistentVolume): string => metadata?.name ?? "";
const volumeMode = ({ spec }: PersistentVolume): string => spec?.volumeMode ?? "Filesystem";

function stepOf(pv: PersistentVolume, step: string): VolumeStep {
  const reason = step.startsWith("MapVolume") ? "FailedMapVolume" : "FailedMount";
  return { step, volume: nameOf(pv), reason };
}

/** A volume is used as what it is (desired_state_of_world_populator createVolumeSpec). */
export function checkMode(pv: PersistentVolume, pod: IdentifiedPod, volume: string): void {
  const mode = volumeMode(pv);
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec ?? {};
  const all = [...initContainers, ...containers, ...ephemeralContainers];
  for (const [field, fits] of [
    ["volumeMounts", "Filesystem"],
    ["volumeDevices", "Block"],
  ] as const) {
    const isUsed = all.some((container) => container[field]?.some(({ name }) => name === volume));
    if (isUsed && mode !== fits)
      throw wrong(`volume ${volume} has volumeMode ${mode}, but is specified in ${field}`);
  }
}

/** The node is one where the volume is available (component-helpers storage/volume CheckNodeAffinity). */
function checkAffinity(pv: PersistentVolume, { nodeLabels }: KindDeps): void {
  const { required } = pv.spec?.nodeAffinity ?? {};
  if (!required) return;
  const labels = nodeLabels();
  if (labels && matchesNodeSelector(required, { labels })) return;
  const verb = volumeMode(pv) === "Block" ? "MapVolume" : "MountVolume";
  const why = labels
    ? "no matching NodeSelectorTerms"
    : "the Node object has not been received yet";
  throw new VolumeStepError(stepOf(pv, `${verb}.NodeAffinity check`), wrong(why));
}

/** Of a claim the pod's reference says whether it is read only (nfs.go). */
async function mountServer(
  { pv, folder, readOnly }: PersistentVolumeRequest,
  nfs: NFSVolumeSource,
  deps: KindDeps,
): Promise<Made> {
  const target = `${folder}/${NFS_PLUGIN}/${nameOf(pv)}`;
  await mountNfs(nfs, { target, options: mountOptions(pv, readOnly) }, deps);
  return { hostPath: target };
}

async function mountLocal(request: PersistentVolumeRequest, deps: KindDeps): Promise<Made> {
  const { pv, pod, folder, readOnly } = request;
  const { path = "", fsType = DEFAULT_FS_TYPE } = pv.spec?.local ?? {};
  const target = `${folder}/${LOCAL_PLUGIN}/${nameOf(pv)}`;
  if (!(await deps.local.isMounted(target))) checkAffinity(pv, deps);
  const { fsGroup: groupId, fsGroupChangePolicy } = pod.spec?.securityContext ?? {};
  const onlyOnMismatch = fsGroupChangePolicy === "OnRootMismatch";
  const mount = {
    name: nameOf(pv),
    path,
    target,
    fsType: fsType === "" ? DEFAULT_FS_TYPE : fsType,
    options: mountOptions(pv, readOnly),
    onOtherGroup: (other: number) =>
      deps.events.ofPod(pod, {
        type: "Warning",
        reason: "AlreadyMountedVolume",
        message: `The requested fsGroup is ${groupId}, but the volume ${nameOf(pv)} has GID ${other}. The volume may not be shareable.`,
      }),
    ...(groupId === undefined || readOnly
      ? {}
      : { group: { groupId, readOnly: false, onlyOnMismatch } }),
  };
  await deps.local.mount(mount).catch((error: unknown) => {
    if (isMismatch(error)) {
      const message = `MountVolume failed for volume "${nameOf(pv)}" ${messageOf(error.cause)}`;
      const { uid = "" } = pv.metadata ?? {};
      const object = { apiVersion: "v1", kind: "PersistentVolume", name: nameOf(pv), uid };
      const reason = "FailedMountOnFilesystemMismatch";
      deps.events.ofObject(object, { type: "Warning", reason, message });
    }
    throw error;
  });
  return { hostPath: target, ...(readOnly ? {} : { relabels: true }) };
}

/** The device holds another file system than the volume says. */
function isMismatch(error: unknown): error is VolumeStepError {
  return error instanceof VolumeStepError && error.code === "invalid";
}

async function mapLocal(request: PersistentVolumeRequest, deps: KindDeps): Promise<Made> {
  const { pv, pod, devices } = request;
  const volume = { name: nameOf(pv), path: pv.spec?.local?.path ?? "" };
  const podUid = pod.metadata.uid;
  if (!(await deps.local.isMapped(volume, podUid))) checkAffinity(pv, deps);
  const links = `${devices}/${LOCAL_PLUGIN}`;
  const { node, nodes, number, isNew } = await deps.local.map({ ...volume, podUid, links });
  if (isNew) {
    const done = `MapVolume.MapPodDevice succeeded for volume "${volume.name}"`;
    for (const where of [`globalMapPath "${nodes}"`, `volumeMapPath "${links}"`])
      deps.events.ofPod(pod, {
        type: "Normal",
        reason: "SuccessfulMountVolume",
        message: `${done} ${where}`,
      });
  }
  return { hostPath: "", device: node, deviceNumber: number };
}

/** Options of the volume, each once and sorted (volume/util MountOptionFromSpec, JoinMountOptions). */
export function mountOptions(pv: PersistentVolume, readOnly: boolean): readonly string[] {
  const annotated = pv.metadata?.annotations?.[OPTIONS_ANNOTATION];
  const own = annotated === undefined ? (pv.spec?.mountOptions ?? []) : annotated.split(",");
  const all = new Set([...own, ...(readOnly ? ["ro"] : [])]);
  return [...all].filter((option) => option !== "").toSorted();
}

function kindOf({ spec }: PersistentVolume): string {
  return Object.keys(spec ?? {}).find((key) => SOURCES.has(key)) ?? "unknown";
}

/** Sources that a persistent volume can have. */
const SOURCES: ReadonlySet<string> = new Set([
  "awsElasticBlockStore",
  "azureDisk",
  "azureFile",
  "cephfs",
  "cinder",
  "csi",
  "fc",
  "flexVolume",
  "flocker",
  "gcePersistentDisk",
  "glusterfs",
  "iscsi",
  "nfs",
  "photonPersistentDisk",
  "portworxVolume",
  "quobyte",
  "rbd",
  "scaleIO",
  "storageos",
  "vsphereVolume",
]);
