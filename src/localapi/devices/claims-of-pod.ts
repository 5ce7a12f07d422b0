// pure
/** What the scheduler does for the resource claims of a pod: all of them are allocated and reserved at once, or none. */
import type {
  DeviceClass,
  DynamicResourceClaim,
  Pod,
  ResourceSlice,
} from "../../api/generated/types.ts";
import { claimsOfPod, PodClaimError } from "../../api/pod-claims.ts";
import { identifyPod } from "../../api/pod-identity.ts";
import type { Stored } from "../api-object.ts";
import { allocateClaim, type Offer } from "./allocate-claim.ts";
import { deviceId, offeredDevices } from "./offered-devices.ts";

/** A claim as the store has it. */
export type StoredClaim = Stored<DynamicResourceClaim>;

/** All that counts for an allocation. */
interface ClaimsView {
  readonly claims: readonly StoredClaim[];
  readonly classes: readonly Stored<DeviceClass>[];
  readonly slices: readonly Stored<ResourceSlice>[];
  readonly nodeName: string;
}

/** The claims as they are to be written before the pod is bound, or why it has to wait. */
export type PodClaims =
  | { readonly kind: "ready"; readonly writes: readonly StoredClaim[] }
  | { readonly kind: "waits"; readonly why: string };

/** Keeps a claim as long as it is allocated. */
export const CLAIM_ALLOCATED = "resource.kubernetes.io/delete-protection";
/** Pods that may share a claim (ResourceClaimReservedForMaxSize). */
const MAX_USERS = 256;

const waits = (why: string): PodClaims => ({ kind: "waits", why });

/** Allocates and reserves what is still missing. */
export function planPodClaims(pod: Stored<Pod>, view: ClaimsView): PodClaims {
  const found = claimsNamedBy(pod, view.claims);
  if (typeof found === "string") return waits(found);
  const taken = takenDevices(view.claims);
  const offer: Offer = {
    devices: offeredDevices(view.slices, view.nodeName),
    classes: new Map(view.classes.map((each) => [each.metadata.name, each])),
    taken,
    nodeName: view.nodeName,
  };
  const writes: StoredClaim[] = [];
  for (const claim of found) {
    const allocated = claim.status?.allocation ? claim : withDevices(claim, offer);
    if (typeof allocated === "string")
      return waits(`cannot allocate all claims: claim ${claim.metadata.name}: ${allocated}`);
    for (const id of idsOf(allocated)) taken.add(id);
    const reserved = withUser(allocated, pod);
    if (reserved === undefined)
      return waits(`claim ${claim.metadata.name} is used by ${MAX_USERS} pods already`);
    if (reserved !== claim) writes.push(reserved);
  }
  return { kind: "ready", writes };
}

function claimsNamedBy(
  pod: Stored<Pod>,
  claims: readonly StoredClaim[],
): readonly StoredClaim[] | string {
  const { namespace } = pod.metadata;
  const found: StoredClaim[] = [];
  try {
    for (const { claimName, isGenerated } of claimsOfPod(identifyPod(pod))) {
      const claim = claims.find(
        ({ metadata }) => metadata.name === claimName && metadata.namespace === namespace,
      );
      if (!claim) return `resourceclaim "${claimName}" not found`;
      if (claim.metadata.deletionTimestamp !== undefined)
        return `resourceclaim "${claimName}" is being deleted`;
      const owners = claim.metadata.ownerReferences ?? [];
      if (isGenerated && !owners.some(({ uid }) => uid === pod.metadata.uid))
        return `resourceclaim "${claimName}" was not created for the pod`;
      if (!found.includes(claim)) found.push(claim);
    }
  } catch (error) {
    if (!(error instanceof PodClaimError)) throw error;
    return error.message;
  }
  return found;
}

function withDevices(claim: StoredClaim, offer: Offer): StoredClaim | string {
  const allocation = allocateClaim(claim.spec, offer);
  if (allocation.kind === "nothing") return allocation.why;
  const finalizers = [...new Set([...(claim.metadata.finalizers ?? []), CLAIM_ALLOCATED])];
  return {
    ...claim,
    metadata: { ...claim.metadata, finalizers },
    status: { ...claim.status, allocation: allocation.result },
  };
}

/** The claim, reserved for the pod; `undefined` when too many others have it. */
function withUser(claim: StoredClaim, { metadata }: Stored<Pod>): StoredClaim | undefined {
  const { reservedFor = [] } = claim.status ?? {};
  const { name, uid } = metadata;
  if (reservedFor.some((user) => user.uid === uid)) return claim;
  if (reservedFor.length >= MAX_USERS) return undefined;
  const users = [...reservedFor, { resource: "pods", name, uid }];
  return { ...claim, status: { ...claim.status, reservedFor: users } };
}

const idsOf = ({ status }: StoredClaim): readonly string[] =>
  (status?.allocation?.devices?.results ?? []).map(({ driver, pool, device }) =>
    deviceId({ driver, pool, name: device }),
  );

const takenDevices = (claims: readonly StoredClaim[]): Set<string> =>
  new Set(claims.flatMap((claim) => idsOf(claim)));
