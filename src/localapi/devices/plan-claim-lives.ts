// pure
/** The lives of resource claims: made from templates for pods, free again after the last pod, gone with the pod they were made for. */
import type { Pod, ResourceClaimTemplate } from "../../api/generated/types.ts";
import { isTerminalPhase } from "../../api/pod/pod.ts";
import type { Stored } from "../api-object.ts";
import { CLAIM_ALLOCATED, type StoredClaim } from "./claims-of-pod.ts";

interface LivesView {
  readonly pods: readonly Stored<Pod>[];
  readonly claims: readonly StoredClaim[];
  readonly templates: readonly Stored<ResourceClaimTemplate>[];
}

/** One thing to be done. */
export type ClaimLifeStep =
  /** `name` is what the pod's spec calls the claim. */
  | {
      readonly kind: "make";
      readonly pod: Stored<Pod>;
      readonly name: string;
      readonly template: Stored<ResourceClaimTemplate>;
    }
  /** It was made, and the pod's status does not say so yet. */
  | {
      readonly kind: "name";
      readonly pod: Stored<Pod>;
      readonly name: string;
      readonly claim: StoredClaim;
    }
  /** Pods that have ended use it no more; without any the devices are free. */
  | { readonly kind: "release"; readonly now: StoredClaim; readonly before: StoredClaim }
  | { readonly kind: "remove"; readonly claim: StoredClaim };

/** On generated claims: what the pod's spec calls them. */
export const POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name";

/** Plans the steps. */
export function planClaimLives(view: LivesView): readonly ClaimLifeStep[] {
  const living = new Map(
    view.pods
      .filter(({ status }) => !isTerminalPhase(status?.phase))
      .map((pod) => [pod.metadata.uid, pod]),
  );
  return [
    ...[...living.values()].flatMap((pod) => stepsOfPod(pod, view)),
    ...view.claims.flatMap((claim) => stepsOfClaim(claim, living)),
  ];
}

function stepsOfPod(pod: Stored<Pod>, { claims, templates }: LivesView): readonly ClaimLifeStep[] {
  const { namespace, uid, deletionTimestamp } = pod.metadata;
  if (deletionTimestamp !== undefined) return [];
  const named = new Set((pod.status?.resourceClaimStatuses ?? []).map(({ name }) => name));
  return (pod.spec?.resourceClaims ?? []).flatMap((each): readonly ClaimLifeStep[] => {
    const { name, resourceClaimTemplateName } = each;
    if (resourceClaimTemplateName === undefined || named.has(name)) return [];
    const claim = claims.find(
      ({ metadata }) =>
        metadata.annotations?.[POD_CLAIM_NAME] === name &&
        metadata.ownerReferences?.some((owner) => owner.uid === uid) === true,
    );
    if (claim) return [{ kind: "name", pod, name, claim }];
    const template = templates.find(
      ({ metadata }) =>
        metadata.name === resourceClaimTemplateName && metadata.namespace === namespace,
    );
    return template ? [{ kind: "make", pod, name, template }] : [];
  });
}

function stepsOfClaim(
  claim: StoredClaim,
  living: ReadonlyMap<string, Stored<Pod>>,
): readonly ClaimLifeStep[] {
  const { metadata, status } = claim;
  const isGenerated = metadata.annotations?.[POD_CLAIM_NAME] !== undefined;
  const owners = (metadata.ownerReferences ?? []).filter(({ kind }) => kind === "Pod");
  const isOrphan = isGenerated && owners.every(({ uid }) => !living.has(uid));
  const remove: readonly ClaimLifeStep[] =
    isOrphan && metadata.deletionTimestamp === undefined ? [{ kind: "remove", claim }] : [];
  const before = status?.reservedFor ?? [];
  const users = before.filter(({ uid }) => living.has(uid));
  const isHeld = metadata.finalizers?.includes(CLAIM_ALLOCATED) === true;
  const isFree = users.length === 0 && (status?.allocation !== undefined || isHeld);
  if (users.length === before.length && !isFree) return remove;
  return [{ kind: "release", before: claim, now: withUsers(claim, users) }, ...remove];
}

/** Without users the devices are free again. */
function withUsers(
  claim: StoredClaim,
  users: NonNullable<NonNullable<StoredClaim["status"]>["reservedFor"]>,
): StoredClaim {
  const { allocation, reservedFor: _, ...status } = claim.status ?? {};
  if (users.length > 0)
    return {
      ...claim,
      status: { ...status, ...(allocation ? { allocation } : {}), reservedFor: users },
    };
  const finalizers = (claim.metadata.finalizers ?? []).filter((each) => each !== CLAIM_ALLOCATED);
  return { ...claim, metadata: { ...claim.metadata, finalizers }, status };
}
