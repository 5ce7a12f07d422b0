// pure
/** What a claim's object must say before its devices are prepared for a pod. */
import type { PodClaim } from "../../api/pod-claims.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { ResourceClaimObject } from "../../api/resource-claim-object.ts";

/** A claim that may be prepared for a pod. */
export interface AllocatedClaim {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Drivers of the devices that it was allocated, each once. */
  readonly drivers: readonly string[];
}

/** A claim cannot be prepared now; the message is for the event. */
export class ClaimRefused extends Error {
  override readonly name = "ClaimRefused";
}

/** It is being unprepared: worth another try as soon as that is over. */
export class ClaimBusy extends ClaimRefused {}

/** Checks that the claim is the pod's, reserved for it, and allocated. Throws `ClaimRefused`. */
export function readAllocated(
  pod: IdentifiedPod,
  { claimName: name, isGenerated }: PodClaim,
  { metadata, status }: ResourceClaimObject,
): AllocatedClaim {
  const { namespace, name: podName, uid: podUid } = pod.metadata;
  const uid = metadata?.uid ?? "";
  const owner = (metadata?.ownerReferences ?? []).find(({ controller }) => controller === true);
  if (isGenerated && owner?.uid !== podUid)
    throw new ClaimRefused(
      `ResourceClaim ${namespace}/${name} was not created for Pod ${namespace}/${podName} (Pod is not owner)`,
    );
  if (!(status?.reservedFor ?? []).some((consumer) => consumer.uid === podUid))
    throw new ClaimRefused(
      `pod ${podName} (${podUid}) is not allowed to use ResourceClaim ${name} (${uid})`,
    );
  if (!status?.allocation) throw new ClaimRefused(`ResourceClaim ${name}: not allocated`);
  const results = status.allocation.devices?.results ?? [];
  if (results.some(({ skipNodeOperations = [] }) => skipNodeOperations.length > 0))
    throw new ClaimRefused(
      `ResourceClaim ${name}: DRAOptionalNodeOperations feature gate is disabled on kubelet`,
    );
  return { namespace, name, uid, drivers: [...new Set(results.map(({ driver }) => driver))] };
}
