// pure
/** Which resource claims a pod has, by its spec and what controllers wrote into its status. */
import type { Pod } from "./generated/types.ts";
import type { IdentifiedPod } from "./pod-identity.ts";

/** One claim of a pod. */
export interface PodClaim {
  /** Name of the claim's object. */
  readonly claimName: string;
  /** The object was made from a template for this pod alone. */
  readonly isGenerated: boolean;
}

/** The pod names a claim that cannot be looked up yet, or at all; the message is for the event. */
export class PodClaimError extends Error {
  override readonly name = "PodClaimError";
}

/** Whether the pod has claims: those of its spec, or the one behind its extended resources. */
export function usesClaims({ spec, status }: Pick<Pod, "spec" | "status">): boolean {
  return (
    (spec?.resourceClaims ?? []).length > 0 || status?.extendedResourceClaimStatus !== undefined
  );
}

/** What people call the claims: as the pod's spec does, and that of extended resources by its object. */
export function claimLabels({ spec, status }: Pick<Pod, "spec" | "status">): readonly string[] {
  const extended = status?.extendedResourceClaimStatus?.resourceClaimName;
  const named = (spec?.resourceClaims ?? []).map(({ name }) => name);
  return extended === undefined ? named : [...named, extended];
}

/** The claims of the pod in order, that of extended resources last. Throws `PodClaimError`. */
export function claimsOfPod(pod: IdentifiedPod): readonly PodClaim[] {
  const { spec, status } = pod;
  const claims = (spec?.resourceClaims ?? []).flatMap(({ name }) => {
    const claimName = claimNameOf(pod, name);
    return claimName === undefined ? [] : [{ claimName, isGenerated: isFromTemplate(pod, name) }];
  });
  const extended = status?.extendedResourceClaimStatus;
  if (!extended) return claims;
  return [...claims, { claimName: extended.resourceClaimName, isGenerated: false }];
}

/**
 * The object behind the claim that the pod's spec calls `name`; `undefined` where its controller has found that none
 * is needed. Throws `PodClaimError`.
 */
export function claimNameOf(pod: IdentifiedPod, name: string): string | undefined {
  const { metadata, spec, status } = pod;
  const claim = (spec?.resourceClaims ?? []).find((each) => each.name === name);
  const whose = `pod "${metadata.namespace}/${metadata.name}"`;
  if (claim?.resourceClaimName !== undefined) return claim.resourceClaimName;
  if (claim?.resourceClaimTemplateName === undefined)
    throw new PodClaimError(
      `${whose}, spec.resourceClaim "${name}": none of the supported fields are set`,
    );
  const generated = (status?.resourceClaimStatuses ?? []).find((each) => each.name === name);
  if (!generated) throw new PodClaimError(`${whose}: ResourceClaim not created yet`);
  return generated.resourceClaimName;
}

function isFromTemplate({ spec }: IdentifiedPod, name: string): boolean {
  const claim = (spec?.resourceClaims ?? []).find((each) => each.name === name);
  return claim?.resourceClaimName === undefined;
}
