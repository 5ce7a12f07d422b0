import type {
  PersistentVolume,
  PersistentVolumeClaim,
  Volume,
} from "../../../api/generated/types.ts";
import { VOLUME_SOURCES } from "../../../api/pod/volume-sources.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import { wrong } from "../../../api/volume-step.ts";
import { messageOf, OutsideError } from "../../../kit/errors.ts";
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES } from "../../../outside/kube/kube.ts";
import {
  getObject,
  type KindDeps,
  namespaceOf,
  type VolumeKind,
  type VolumeRequest,
} from "../kind.ts";
import { checkMode, setUpPersistentVolume } from "./persistent-volume.ts";

const GROUP_ANNOTATION = "pv.beta.kubernetes.io/gid";

/** Persistent volumes by way of a claim: local ones, paths of the node, those of CSI drivers. */
export const claimKind: VolumeKind = {
  plugin: VOLUME_SOURCES.persistentVolumeClaim.folder,
  setUp: async (request, deps, signal) => {
    const { name, readOnly } = claimOf(request.pod, request.volume);
    const { pv, claim } = await boundVolume(request, name, deps, signal);
    checkMode(pv, request.pod, request.volume.name);
    const made = await setUpPersistentVolume({ ...request, pv, claim, readOnly }, deps, signal);
    const groupId = Number(pv.metadata?.annotations?.[GROUP_ANNOTATION] ?? Number.NaN);
    return {
      ...made,
      readOnly,
      claim: name,
      accessModes: pv.spec?.accessModes ?? [],
      ...(Number.isSafeInteger(groupId) && groupId >= 0 ? { groupId } : {}),
    };
  },
  wakes: (deps, wake) => deps.csi?.subscribe(wake),
};

/** The claim a volume means; an ephemeral one has a claim made for it. */
function claimOf(pod: IdentifiedPod, volume: Volume): { name: string; readOnly: boolean } {
  const { persistentVolumeClaim: claim } = volume;
  if (claim) return { name: claim.claimName, readOnly: claim.readOnly === true };
  return { name: `${pod.metadata.name}-${volume.name}`, readOnly: false };
}

/** The volume that is bound to the claim (desired_state_of_world_populator getPVCExtractPV, getPVSpec). */
async function boundVolume(
  { pod, volume }: VolumeRequest,
  name: string,
  deps: KindDeps,
  signal: AbortSignal,
): Promise<{ readonly pv: PersistentVolume; readonly claim: PersistentVolumeClaim }> {
  const namespace = namespaceOf(pod);
  try {
    const place = { namespace, name };
    const claim = await getObject(deps, PERSISTENT_VOLUME_CLAIMS, place, signal);
    if (!claim)
      throw wrong(
        `failed to fetch PVC from API server: persistentvolumeclaims "${name}" not found`,
      );
    const volumeName = volumeNameOf(claim, volume.ephemeral ? pod : undefined);
    const pv = await getObject(
      deps,
      PERSISTENT_VOLUMES,
      { namespace: "", name: volumeName },
      signal,
    );
    if (!pv)
      throw wrong(
        `failed to fetch PV ${volumeName} from API server: persistentvolumes "${volumeName}" not found`,
      );
    const { claimRef } = pv.spec ?? {};
    if (!claimRef)
      throw wrong(
        `found PV object ${volumeName} with nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`,
      );
    if (claimRef.uid !== claim.metadata?.uid)
      throw wrong(
        `found PV object ${volumeName} with a pv.Spec.ClaimRef.UID ${claimRef.uid} that is not bound to the claim ${namespace}/${name}`,
      );
    return { pv, claim };
  } catch (error) {
    signal.throwIfAborted();
    const message = `error processing PVC ${namespace}/${name}: ${messageOf(error)}`;
    throw new OutsideError("precondition", message, { cause: error });
  }
}

function volumeNameOf(claim: PersistentVolumeClaim, madeFor: IdentifiedPod | undefined): string {
  const { metadata, spec, status } = claim;
  const owned = metadata?.ownerReferences?.some(
    ({ uid, controller }) => controller === true && uid === madeFor?.metadata?.uid,
  );
  if (madeFor && !owned) {
    const { namespace, name } = madeFor.metadata ?? {};
    throw wrong(
      `PVC ${namespace}/${metadata?.name} was not created for pod ${namespace}/${name} (pod is not owner)`,
    );
  }
  const isProtected = metadata?.finalizers?.includes("kubernetes.io/pvc-protection") ?? false;
  if (metadata?.deletionTimestamp !== undefined && !isProtected)
    throw wrong("PVC is being deleted");
  if (status?.phase !== "Bound") throw wrong("PVC is not bound");
  if (!spec?.volumeName) throw wrong("PVC has empty pvName");
  return spec.volumeName;
}
