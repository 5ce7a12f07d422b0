// pure
/** Claims and volumes: what a cluster's binder and a provisioner of local paths would do, decided from a look at all. */
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
} from "../../../api/generated/types.ts";
import { isTerminalPhase } from "../../../api/pod/pod.ts";
import { parseQuantity, quantityValue } from "../../../api/text/quantity.ts";
import { CLAIM_IN_USE } from "../../kinds/other-rules.ts";

/** Makes volumes for the class `local`. */
export const PROVISIONER = "nodelet.dev/local";
/** The class that claims get that name none. */
export const LOCAL_CLASS = "local";
const PROVISIONED_BY = "pv.kubernetes.io/provisioned-by";

/** All there is. */
export interface ClaimsView {
  readonly claims: readonly PersistentVolumeClaim[];
  readonly volumes: readonly PersistentVolume[];
  readonly classes: readonly StorageClass[];
  readonly pods: readonly Pod[];
}

/** One thing to be done. */
export type ClaimStep =
  | {
      readonly kind: "bind";
      readonly claim: PersistentVolumeClaim;
      readonly volume: PersistentVolume;
    }
  | {
      readonly kind: "provision";
      readonly claim: PersistentVolumeClaim;
      readonly storageClass: StorageClass;
    }
  /** No pod uses the claim any more, which is to go. */
  | { readonly kind: "removeFinalizer"; readonly claim: PersistentVolumeClaim }
  | { readonly kind: "phase"; readonly volume: PersistentVolume; readonly phase: string }
  | { readonly kind: "markLost"; readonly claim: PersistentVolumeClaim }
  /** The claim is gone: data and volume go. */
  | { readonly kind: "reclaim"; readonly volume: PersistentVolume }
  /** The claim waits, and is reported why. */
  | {
      readonly kind: "event";
      readonly claim: PersistentVolumeClaim;
      readonly type: "Normal" | "Warning";
      readonly reason: string;
      readonly message: string;
    };

/** What is to be done, volumes after claims. */
export function planClaims(view: ClaimsView): readonly ClaimStep[] {
  const taken = new Set<string>();
  return [
    ...view.claims.flatMap((claim) => planClaim(claim, view, taken)),
    ...view.volumes.flatMap((volume) => planVolume(volume, view)),
  ];
}

/** Names of the claims that a pod uses. */
export function claimsOf(pod: Pod): readonly string[] {
  return (pod.spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim) return [persistentVolumeClaim.claimName];
    return ephemeral ? [`${pod.metadata?.name ?? ""}-${name}`] : [];
  });
}

/** Why a pod has to wait for its claims, in the scheduler's words; undefined when all are bound. */
export function claimObstacle(
  pod: Pod,
  claims: readonly PersistentVolumeClaim[],
): string | undefined {
  for (const name of claimsOf(pod)) {
    const claim = claims.find(
      ({ metadata }) => metadata?.name === name && metadata.namespace === pod.metadata?.namespace,
    );
    if (!claim) return `persistentvolumeclaim "${name}" not found`;
    if (claim.metadata?.deletionTimestamp !== undefined)
      return `persistentvolumeclaim "${name}" is being deleted`;
    if (claim.status?.phase === "Lost")
      return `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${claim.spec?.volumeName ?? ""}"`;
    if (claim.status?.phase !== "Bound") return `pod has unbound PersistentVolumeClaims: "${name}"`;
  }
  return undefined;
}

function planClaim(
  claim: PersistentVolumeClaim,
  view: ClaimsView,
  taken: Set<string>,
): readonly ClaimStep[] {
  const { metadata, spec, status } = claim;
  if (metadata?.deletionTimestamp !== undefined) {
    const isHeld = metadata.finalizers?.includes(CLAIM_IN_USE) === true;
    return isHeld && usersOf(claim, view).length === 0 ? [{ kind: "removeFinalizer", claim }] : [];
  }
  if (status?.phase === "Bound") {
    const isThere = view.volumes.some((volume) => volume.metadata?.name === spec?.volumeName);
    return isThere ? [] : [{ kind: "markLost", claim }];
  }
  if (status?.phase === "Lost") return [];
  const volume = chooseVolume(claim, view.volumes, taken);
  if (volume) {
    taken.add(volume.metadata?.name ?? "");
    return [{ kind: "bind", claim, volume }];
  }
  return (spec?.volumeName ?? "") === "" ? planNewVolume(claim, view) : [];
}

/** A claim that no volume fits gets one made, once there is a pod for it. */
function planNewVolume(claim: PersistentVolumeClaim, view: ClaimsView): readonly ClaimStep[] {
  const name = claim.spec?.storageClassName ?? "";
  const storageClass = view.classes.find(({ metadata }) => metadata?.name === name);
  if (!storageClass) {
    const message =
      name === ""
        ? "no persistent volumes available for this claim and no storage class is set"
        : `storageclass.storage.k8s.io "${name}" not found; there is ${LOCAL_CLASS}`;
    return [{ kind: "event", claim, type: "Warning", reason: "ProvisioningFailed", message }];
  }
  if (storageClass.provisioner !== PROVISIONER) {
    const message = `Waiting for a volume to be created by the external provisioner '${storageClass.provisioner}'. nodelet provisions volumes of class ${LOCAL_CLASS} only.`;
    return [{ kind: "event", claim, type: "Normal", reason: "ExternalProvisioning", message }];
  }
  if (claim.spec?.volumeMode === "Block") {
    const message = `volumeMode Block is not supported by class ${name}: create a local PersistentVolume for a device`;
    return [{ kind: "event", claim, type: "Warning", reason: "ProvisioningFailed", message }];
  }
  if (
    storageClass.volumeBindingMode === "WaitForFirstConsumer" &&
    usersOf(claim, view).length === 0
  ) {
    const message = "waiting for first consumer to be created before binding";
    return [{ kind: "event", claim, type: "Normal", reason: "WaitForFirstConsumer", message }];
  }
  return [{ kind: "provision", claim, storageClass }];
}

/** Pods that use the claim and have not ended. */
function usersOf({ metadata }: PersistentVolumeClaim, { pods }: ClaimsView): readonly Pod[] {
  return pods.filter(
    (pod) =>
      pod.metadata?.namespace === metadata?.namespace &&
      !isTerminalPhase(pod.status?.phase) &&
      claimsOf(pod).includes(metadata?.name ?? ""),
  );
}

/** The volume that is meant for the claim, or the smallest that fits it. */
function chooseVolume(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
  taken: ReadonlySet<string>,
): PersistentVolume | undefined {
  const { volumeName = "" } = claim.spec ?? {};
  const free = volumes.filter(
    (volume) =>
      volume.metadata?.deletionTimestamp === undefined &&
      !taken.has(volume.metadata?.name ?? "") &&
      isMeantFor(volume, claim) !== "another",
  );
  const meant = free.find((volume) => isMeantFor(volume, claim) === "this");
  if (meant) return meant;
  if (volumeName !== "") return free.find(({ metadata }) => metadata?.name === volumeName);
  return free
    .filter((volume) => fits(volume, claim))
    .toSorted(
      (a, b) => bytesOf(a.spec?.capacity?.["storage"]) - bytesOf(b.spec?.capacity?.["storage"]),
    )
    .at(0);
}

/** Whom a volume is reserved for. */
function isMeantFor(
  { spec }: PersistentVolume,
  { metadata }: PersistentVolumeClaim,
): "this" | "another" | "nobody" {
  const { claimRef } = spec ?? {};
  if (!claimRef) return "nobody";
  const isNamed = claimRef.name === metadata?.name && claimRef.namespace === metadata?.namespace;
  return isNamed && [undefined, "", metadata?.uid].includes(claimRef.uid) ? "this" : "another";
}

function fits({ metadata, spec }: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const wanted = claim.spec ?? {};
  const labels = metadata?.labels ?? {};
  const { matchLabels = {}, matchExpressions = [] } = wanted.selector ?? {};
  return (
    (spec?.storageClassName ?? "") === (wanted.storageClassName ?? "") &&
    (spec?.volumeMode ?? "Filesystem") === (wanted.volumeMode ?? "Filesystem") &&
    (wanted.accessModes ?? []).every((mode) => spec?.accessModes?.includes(mode)) &&
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.length === 0 &&
    bytesOf(spec?.capacity?.["storage"]) >= bytesOf(wanted.resources?.requests?.["storage"])
  );
}

function bytesOf(amount: string | undefined): number {
  try {
    return amount === undefined ? 0 : Number(quantityValue(parseQuantity(amount)));
  } catch {
    return 0;
  }
}

function planVolume(volume: PersistentVolume, { claims }: ClaimsView): readonly ClaimStep[] {
  const { metadata, spec, status } = volume;
  const { claimRef, persistentVolumeReclaimPolicy: policy } = spec ?? {};
  const phase = (wanted: string): readonly ClaimStep[] =>
    status?.phase === wanted ? [] : [{ kind: "phase", volume, phase: wanted }];
  if (metadata?.deletionTimestamp !== undefined) return [];
  if (!claimRef || (claimRef.uid ?? "") === "") return phase("Available");
  if (claims.some((claim) => claim.metadata?.uid === claimRef.uid)) return [];
  const isOurs = metadata?.annotations?.[PROVISIONED_BY] === PROVISIONER;
  return isOurs && policy === "Delete" ? [{ kind: "reclaim", volume }] : phase("Released");
}

/** The volume that is made for a claim; `path` is its folder. */
export function newVolume(
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
  at: { readonly path: string; readonly hostname: string },
): PersistentVolume & { readonly apiVersion: string; readonly kind: string } {
  const { metadata, spec } = claim;
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: volumeNameOf(claim), annotations: { [PROVISIONED_BY]: PROVISIONER } },
    spec: {
      capacity: { storage: spec?.resources?.requests?.["storage"] ?? "0" },
      accessModes: spec?.accessModes ?? [],
      volumeMode: "Filesystem",
      storageClassName: storageClass.metadata?.name ?? "",
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? "Delete",
      local: { path: at.path },
      claimRef: {
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        namespace: metadata?.namespace ?? "",
        name: metadata?.name ?? "",
        uid: metadata?.uid ?? "",
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
export function volumeNameOf({ metadata }: PersistentVolumeClaim): string {
  return `pvc-${metadata?.uid ?? ""}`;
}
