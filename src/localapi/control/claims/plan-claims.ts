// pure
/** Claims and volumes: what a cluster's binder and a provisioner of local paths would do, decided from all of them. */
import type { EventText } from "../../../api/event-text.ts";
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
} from "../../../api/generated/types.ts";
import { isTerminalPhase } from "../../../api/pod/pod.ts";
import { labelRequirements, matchesLabels } from "../../../api/text/labels.ts";
import { parseQuantity, quantityValue } from "../../../api/text/quantity.ts";
import type { ApiObject, NamedMeta, Stored } from "../../api-object.ts";
import { CLAIM_IN_USE, VOLUME_IN_USE } from "../../kinds/other-rules.ts";

/** Makes volumes for the class `local`. */
export const PROVISIONER = "nodelet.dev/local";
/** The class that claims get that name none. */
export const LOCAL_CLASS = "local";
const PROVISIONED_BY = "pv.kubernetes.io/provisioned-by";

type Claim = Stored<PersistentVolumeClaim>;
type Volume = Stored<PersistentVolume>;
type Class = Stored<StorageClass>;

/** All there is. */
export interface ClaimsView {
  readonly claims: readonly Claim[];
  readonly volumes: readonly Volume[];
  readonly classes: readonly Class[];
  readonly pods: readonly Stored<Pod>[];
}

/** One thing to be done. */
export type ClaimStep =
  | {
      readonly kind: "bind";
      readonly claim: Claim;
      readonly volume: Volume;
    }
  | {
      readonly kind: "provision";
      readonly claim: Claim;
      readonly storageClass: Class;
    }
  /** No pod uses the claim any more, which is to go. */
  | { readonly kind: "releaseClaim"; readonly claim: Claim }
  /** No claim is bound to the volume any more, which is to go. */
  | { readonly kind: "releaseVolume"; readonly volume: Volume }
  | { readonly kind: "phase"; readonly volume: Volume; readonly phase: string }
  | { readonly kind: "markLost"; readonly claim: Claim }
  /** The claim is gone: data and volume go. */
  | { readonly kind: "reclaim"; readonly volume: Volume }
  /** The claim waits, and is reported why. */
  | (EventText & { readonly kind: "event"; readonly claim: Claim });

/** Plans the steps, those of claims before those of volumes. */
export function planClaims(view: ClaimsView): readonly ClaimStep[] {
  const taken = new Set<string>();
  return [
    ...view.claims.flatMap((claim) => planClaim(claim, view, taken)),
    ...view.volumes.flatMap((volume) => planVolume(volume, view)),
  ];
}

/** Names of the claims that a pod uses. */
function claimsOf(pod: Pod & { readonly metadata: NamedMeta }): readonly string[] {
  return (pod.spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim) return [persistentVolumeClaim.claimName];
    return ephemeral ? [`${pod.metadata.name}-${name}`] : [];
  });
}

/** Why a pod has to wait for its claims, in the scheduler's words; undefined when all are bound. */
export function claimObstacle(pod: Stored<Pod>, claims: readonly Claim[]): string | undefined {
  for (const name of claimsOf(pod)) {
    const claim = claims.find(
      ({ metadata }) => metadata.name === name && metadata.namespace === pod.metadata.namespace,
    );
    if (!claim) return `persistentvolumeclaim "${name}" not found`;
    if (claim.metadata.deletionTimestamp !== undefined)
      return `persistentvolumeclaim "${name}" is being deleted`;
    if (claim.status?.phase === "Lost")
      return `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${claim.spec?.volumeName ?? ""}"`;
    if (claim.status?.phase !== "Bound") return `pod has unbound PersistentVolumeClaims: "${name}"`;
  }
  return undefined;
}

function planClaim(claim: Claim, view: ClaimsView, taken: Set<string>): readonly ClaimStep[] {
  const { metadata, spec, status } = claim;
  if (metadata.deletionTimestamp !== undefined) {
    const isHeld = metadata.finalizers?.includes(CLAIM_IN_USE) === true;
    return isHeld && usersOf(claim, view).length === 0 ? [{ kind: "releaseClaim", claim }] : [];
  }
  if (status?.phase === "Bound") {
    const isThere = view.volumes.some((volume) => volume.metadata.name === spec?.volumeName);
    return isThere ? [] : [{ kind: "markLost", claim }];
  }
  if (status?.phase === "Lost") return [];
  const free = view.volumes.filter(
    (volume) => !taken.has(volume.metadata.name) && isMeantFor(volume, claim) !== "another",
  );
  const named = spec?.volumeName ?? "";
  const step = named === "" ? planAnyVolume(claim, free, view) : planNamedVolume(claim, free);
  if (step?.kind === "bind") taken.add(step.volume.metadata.name);
  return step === undefined ? [] : [step];
}

/** A claim that names its volume gets that one or none, and an event says why (pv_controller.go, `syncUnboundClaim`). */
function planNamedVolume(claim: Claim, free: readonly Volume[]): ClaimStep | undefined {
  const name = claim.spec?.volumeName;
  const volume = free.find(({ metadata }) => metadata.name === name);
  if (!volume) return undefined;
  const why = isMeantFor(volume, claim) === "this" ? undefined : mismatchOf(volume, claim);
  if (why === undefined) return { kind: "bind", claim, volume };
  const message = `Cannot bind to requested volume "${name}": ${why}`;
  return { kind: "event", claim, type: "Warning", reason: "VolumeMismatch", message };
}

function planAnyVolume(claim: Claim, free: readonly Volume[], view: ClaimsView): ClaimStep {
  const volume = chooseVolume(claim, free);
  return volume ? { kind: "bind", claim, volume } : planNewVolume(claim, view);
}

/** A claim that no volume fits gets one made, once there is a pod for it. */
function planNewVolume(claim: Claim, view: ClaimsView): ClaimStep {
  const name = claim.spec?.storageClassName ?? "";
  const storageClass = view.classes.find(({ metadata }) => metadata.name === name);
  const waits = (reason: string, message: string): ClaimStep => ({
    kind: "event",
    claim,
    type: reason === "ProvisioningFailed" ? "Warning" : "Normal",
    reason,
    message,
  });
  if (name === "")
    return waits(
      "FailedBinding",
      "no persistent volumes available for this claim and no storage class is set",
    );
  if (!storageClass)
    return waits(
      "ProvisioningFailed",
      `storageclass.storage.k8s.io "${name}" not found; there is ${LOCAL_CLASS}`,
    );
  if (storageClass.provisioner !== PROVISIONER)
    return waits(
      "ExternalProvisioning",
      `Waiting for a volume to be created by the external provisioner '${storageClass.provisioner}'. nodelet provisions volumes of class ${LOCAL_CLASS} only.`,
    );
  const unsupported = unsupportedPart(claim, name);
  if (unsupported !== undefined) return waits("ProvisioningFailed", unsupported);
  const isDelayed = storageClass.volumeBindingMode === "WaitForFirstConsumer";
  return isDelayed && usersOf(claim, view).length === 0
    ? waits("WaitForFirstConsumer", "waiting for first consumer to be created before binding")
    : { kind: "provision", claim, storageClass };
}

/** Why no provisioned volume can satisfy the claim; undefined when one can. */
function unsupportedPart({ spec }: Claim, className: string): string | undefined {
  if (spec?.volumeMode === "Block")
    return `volumeMode Block is not supported by class ${className}: create a local PersistentVolume for a device`;
  return spec?.selector === undefined
    ? undefined
    : `failed to provision volume with StorageClass "${className}": claim.Spec.Selector is not supported`;
}

/** Pods that use the claim and have not ended. */
function usersOf({ metadata }: Claim, { pods }: ClaimsView): readonly Pod[] {
  return pods.filter(
    (pod) =>
      pod.metadata.namespace === metadata.namespace &&
      !isTerminalPhase(pod.status?.phase) &&
      claimsOf(pod).includes(metadata.name),
  );
}

/** The volume that is reserved for the claim, or the smallest that fits it. */
function chooseVolume(claim: Claim, free: readonly Volume[]): Volume | undefined {
  const usable = free.filter(
    (volume) =>
      volume.metadata.deletionTimestamp === undefined &&
      isLargeEnough(volume, claim) &&
      hasMode(volume, claim),
  );
  return (
    usable.find((volume) => isMeantFor(volume, claim) === "this") ??
    usable
      .filter((volume) => mismatchOf(volume, claim) === undefined && isSelected(volume, claim))
      .toSorted((a, b) => capacityOf(a) - capacityOf(b))
      .at(0)
  );
}

/** Whether a volume is reserved for this claim, for another one, or for none. */
function isMeantFor({ spec }: Volume, { metadata }: Claim): "this" | "another" | "nobody" {
  const { claimRef } = spec ?? {};
  if (!claimRef) return "nobody";
  const isNamed = claimRef.name === metadata.name && claimRef.namespace === metadata.namespace;
  return isNamed && [undefined, "", metadata.uid].includes(claimRef.uid) ? "this" : "another";
}

/** Why a volume does not do for a claim, in the words of Kubernetes (`checkVolumeSatisfyClaim`). */
function mismatchOf(volume: Volume, claim: Claim): string | undefined {
  const { metadata, spec } = volume;
  const { storageClassName = "", accessModes = [] } = claim.spec ?? {};
  if (metadata.deletionTimestamp !== undefined)
    return `the volume is marked for deletion "${metadata.name}"`;
  if (!isLargeEnough(volume, claim)) return "requested PV is too small";
  if ((spec?.storageClassName ?? "") !== storageClassName) return "storageClassName does not match";
  if (!hasMode(volume, claim)) return "incompatible volumeMode";
  const offers = (mode: string) => spec?.accessModes?.includes(mode) === true;
  return accessModes.every(offers) ? undefined : "incompatible accessMode";
}

const capacityOf = ({ spec }: Volume): number => bytesOf(spec?.capacity?.["storage"]);

const isLargeEnough = (volume: Volume, { spec }: Claim): boolean =>
  capacityOf(volume) >= bytesOf(spec?.resources?.requests?.["storage"]);

const hasMode = ({ spec }: Volume, claim: Claim): boolean =>
  (spec?.volumeMode ?? "Filesystem") === (claim.spec?.volumeMode ?? "Filesystem");

/** Whether the claim's selector, where it has one, takes the volume. */
function isSelected({ metadata }: Volume, { spec }: Claim): boolean {
  const reading = labelRequirements(spec?.selector);
  return reading.kind === "selector" && matchesLabels(reading.selector ?? [], metadata.labels);
}

function bytesOf(amount: string | undefined): number {
  try {
    return amount === undefined ? 0 : Number(quantityValue(parseQuantity(amount)));
  } catch {
    return 0;
  }
}

function planVolume(volume: Volume, { claims }: ClaimsView): readonly ClaimStep[] {
  const { metadata, spec, status } = volume;
  const { claimRef, persistentVolumeReclaimPolicy: policy } = spec ?? {};
  const phase = (wanted: string): readonly ClaimStep[] =>
    status?.phase === wanted ? [] : [{ kind: "phase", volume, phase: wanted }];
  const isClaimed = claims.some((claim) => claim.metadata.uid === claimRef?.uid);
  if (claimRef?.uid && isClaimed) return [];
  const isOurs = metadata.annotations?.[PROVISIONED_BY] === PROVISIONER;
  const goesWithClaim = isOurs && policy === "Delete";
  if (metadata.deletionTimestamp !== undefined) {
    if (goesWithClaim) return [{ kind: "reclaim", volume }];
    const isHeld = metadata.finalizers?.includes(VOLUME_IN_USE) === true;
    return isHeld ? [{ kind: "releaseVolume", volume }] : [];
  }
  if (!claimRef?.uid) return phase("Available");
  return goesWithClaim ? [{ kind: "reclaim", volume }] : phase("Released");
}

/** The volume that is made for a claim; `path` is its folder. */
export function newVolume(
  claim: Claim,
  storageClass: Class,
  at: { readonly path: string; readonly hostname: string },
): PersistentVolume & ApiObject {
  const { metadata, spec } = claim;
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: volumeNameOf(claim), annotations: { [PROVISIONED_BY]: PROVISIONER } },
    spec: {
      capacity: { storage: spec?.resources?.requests?.["storage"] ?? "0" },
      accessModes: spec?.accessModes ?? [],
      volumeMode: "Filesystem",
      storageClassName: storageClass.metadata.name,
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? "Delete",
      local: { path: at.path },
      claimRef: {
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        namespace: metadata.namespace ?? "",
        name: metadata.name,
        uid: metadata.uid,
      },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            {
              matchExpressions: [
                { key: "kubernetes.io/hostname", operator: "In", values: [at.hostname] },
              ],
            },
          ],
        },
      },
    },
  };
}

/** `pvc-` and the claim's UID, as provisioners name what they make. */
export function volumeNameOf({ metadata }: Claim): string {
  return `pvc-${metadata.uid}`;
}
