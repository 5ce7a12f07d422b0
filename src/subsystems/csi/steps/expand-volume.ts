import type { ObjectReference, PersistentVolumeClaim } from "../../../api/generated/types.ts";
import { rfc3339 } from "../../../api/text/timestamps.ts";
import { messageOf, OutsideError } from "../../../kit/errors.ts";
import { PERSISTENT_VOLUME_CLAIMS } from "../../../outside/kube/kube.ts";
import { CSI_NODE } from "../../../outside/plugins/plugins.ts";
import { classOf, failedCall, statusOf } from "../csi-error.ts";
import type { CsiOrder } from "../csi-order.ts";
import type { CsiVolume } from "../csi-volume.ts";
import { beginStep } from "../wire/driver-client.ts";
import { volumeCapability } from "../wire/requests.ts";
import {
  grownPatch,
  inProgressPatch,
  planGrowth,
  refusalOf,
  refusedPatch,
  sizeOf,
} from "./plan-growth.ts";
import { askAbilities, type CsiStepDeps } from "./step-deps.ts";

/** The claim of a persistent volume and the size that the volume is to have. */
function wantedSize({
  request: { source },
}: CsiOrder):
  | { readonly claim: PersistentVolumeClaim; readonly text: string; readonly bytes: bigint }
  | undefined {
  if (source.kind === "inline") return undefined;
  const text = source.pv.spec?.capacity?.["storage"];
  const bytes = sizeOf(text);
  return text === undefined || bytes === undefined
    ? undefined
    : { claim: source.claim, text, bytes };
}

/** Whether the volume may have to grow. Its size is at first what the claim's status says. */
export function mayGrow(volume: CsiVolume, order: CsiOrder): boolean {
  const wanted = wantedSize(order);
  if (!wanted || volume.growsOffline) return false;
  volume.sizeBytes ??= sizeOf(wanted.claim.status?.capacity?.["storage"]);
  return volume.sizeBytes !== undefined && volume.sizeBytes < wanted.bytes;
}

/**
 * Grows a volume that a pod has (NodeExpandVolume). Throws what is to hold up the pod's start; of one that the pod has already
 * a failure is an event.
 */
export async function growIfRequested(
  volume: CsiVolume,
  order: CsiOrder,
  deps: CsiStepDeps,
): Promise<void> {
  const wanted = wantedSize(order);
  if (!wanted || !mayGrow(volume, order)) return;
  const isOnline = volume.pods.get(order.podUid)?.state === "mounted";
  if (order.readOnly) {
    if (!isOnline)
      say(order, wanted.claim, deps, {
        type: "Warning",
        reason: "FileSystemResizeFailed",
        message: `MountVolume.NodeExpandVolume failed for volume "${order.specName}" requested read-only file system`,
      });
    return;
  }
  const plan = planGrowth(wanted.claim, wanted.bytes);
  if (plan.kind === "done") volume.sizeBytes = plan.sizeBytes;
  if (plan.kind !== "expand") return;
  try {
    await grow(volume, order, { ...wanted, ...plan }, deps);
  } catch (error) {
    deps.signal.throwIfAborted();
    if (isOnline)
      deps.events.ofPod(order.pod, {
        type: "Warning",
        reason: "VolumeResizeFailed",
        message: `NodeExpandVolume.NodeExpandVolume failed for volume "${order.specName}" : ${messageOf(error)}`,
      });
    throw error;
  }
}

interface Growth {
  readonly claim: PersistentVolumeClaim;
  readonly text: string;
  readonly sizeBytes: bigint;
  readonly records: boolean;
}

async function grow(
  volume: CsiVolume,
  order: CsiOrder,
  growth: Growth,
  deps: CsiStepDeps,
): Promise<void> {
  const { claim, sizeBytes, records } = growth;
  if (records) await patchClaim(claim, inProgressPatch(), deps);
  try {
    const isDone = await call(volume, order, sizeBytes, deps);
    if (!isDone && records)
      throw new OutsideError(
        "unimplemented",
        `driver ${volume.driver} cannot expand volumes on the node`,
      );
    if (isDone) {
      const message = `MountVolume.NodeExpandVolume succeeded for volume "${order.specName}" ${deps.cluster.nodeName}`;
      say(order, claim, deps, { type: "Normal", reason: "FileSystemResizeSuccessful", message });
    }
    const capacity = sizeOf(claim.status?.capacity?.["storage"]) ?? 0n;
    if (isDone && (records || capacity < sizeBytes))
      await patchClaim(claim, grownPatch(claim, sizeText(growth)), deps);
    volume.sizeBytes = sizeBytes;
  } catch (error) {
    deps.signal.throwIfAborted();
    await refused(volume, growth, error, deps);
  }
}

/** The size as the claim asked for it, where that is the size. */
function sizeText({ claim, text, sizeBytes }: Growth): string {
  const allocated = claim.status?.allocatedResources?.["storage"];
  if (allocated !== undefined && sizeOf(allocated) === sizeBytes) return allocated;
  return sizeOf(text) === sizeBytes ? text : String(sizeBytes);
}

/** Asks the driver; `false`: it cannot expand volumes. */
async function call(
  volume: CsiVolume,
  order: CsiOrder,
  sizeBytes: bigint,
  deps: CsiStepDeps,
): Promise<boolean> {
  const { drivers, cluster, clock, paths, signal } = deps;
  const calls = drivers.callsOf(volume.driver, "Expander.NodeExpand failed to get CSI client");
  const step = beginStep(clock, signal);
  const able = await askAbilities(calls, step);
  if (!able.expands) return false;
  const secrets = await cluster.secret(order.expandSecret, "NodeExpandSecretRef", signal);
  const request = {
    volumeId: volume.handle,
    volumePath: paths.forPod(order, order.podUid).target,
    capacityRange: { requiredBytes: sizeBytes, limitBytes: 0n },
    stagingTargetPath: paths.shared(volume).staging,
    volumeCapability: volumeCapability(order, { multiWriter: able.multiWriter }),
    secrets,
  };
  await calls.call(CSI_NODE.methods.nodeExpandVolume, request, step).catch((error: unknown) => {
    signal.throwIfAborted();
    const what = refusalOf(statusOf(error)) === "infeasible" ? "volume " : "volume : ";
    throw failedCall(error, `Expander.NodeExpand failed to expand the ${what}`);
  });
  return true;
}

/** Notes a failure at the claim. Throws it, unless the driver only grows the volume while nobody uses it. */
async function refused(
  volume: CsiVolume,
  { claim, records, sizeBytes }: Growth,
  error: unknown,
  deps: CsiStepDeps,
): Promise<void> {
  const refusal = refusalOf(statusOf(error));
  const isFinal = classOf(error) === "final";
  const requested = sizeOf(claim.spec?.resources?.requests?.["storage"]);
  const isInfeasible =
    refusal === "infeasible" ||
    (isFinal && refusal === "retry" && volume.hasRefusedGrowth && requested !== sizeBytes);
  if (refusal === "offline") volume.growsOffline = true;
  if (isFinal) volume.hasRefusedGrowth = true;
  if (records && isFinal) {
    const now = rfc3339(deps.clock.wall());
    const patch = refusedPatch(claim, { message: messageOf(error), isInfeasible, now });
    await patchClaim(claim, patch, deps);
  }
  if (refusal !== "offline") throw error;
}

async function patchClaim(
  { metadata }: PersistentVolumeClaim,
  body: object,
  { client, signal }: CsiStepDeps,
): Promise<void> {
  const { namespace = "", name = "" } = metadata ?? {};
  const place = { namespace, name, subresource: "status" };
  await client?.patch(PERSISTENT_VOLUME_CLAIMS, place, { kind: "merge", body }, signal);
}

type SizeEvent = Parameters<CsiStepDeps["events"]["ofPod"]>[1];

/** An event about the pod and its claim. */
function say(
  { pod }: CsiOrder,
  { metadata }: PersistentVolumeClaim,
  { events }: CsiStepDeps,
  event: SizeEvent,
): void {
  events.ofPod(pod, event);
  const { namespace = "", name = "", uid = "" } = metadata ?? {};
  const object: ObjectReference = {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    namespace,
    name,
    uid,
  };
  events.ofObject(object, event);
}
