// pure
/** What containers get of the claims of their pod. */
import type { Container } from "../../api/generated/types.ts";
import { claimNameOf, PodClaimError } from "../../api/pod-claims.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { type ClaimInfo, type ClaimTable, claimKey, devicesFor } from "./claim-info.ts";

/** The container cannot be made with its claims now; the message is for the pod's status. */
export class ClaimsNotReady extends Error {
  override readonly name = "ClaimsNotReady";
}

/** One request of a container: a claim, or a request of it. */
interface ContainerClaim {
  /** Name of the claim's object; `undefined` where none is needed. */
  readonly claimName: string | undefined;
  readonly request: string | undefined;
  /** What the pod's spec calls the claim; `undefined` for that of extended resources. */
  readonly podClaim: string | undefined;
}

const NONE: readonly never[] = [];

type Claiming = Pick<Container, "name" | "resources">;

/** What the container requests, in order; its extended resources come last. Throws `PodClaimError`. */
export function containerClaims(
  pod: IdentifiedPod,
  container: Claiming,
): readonly ContainerClaim[] {
  const named = (container.resources?.claims ?? []).map(({ name, request }) => ({
    claimName: claimNameOf(pod, name),
    request,
    podClaim: name,
  }));
  const extended = pod.status?.extendedResourceClaimStatus;
  if (!extended) return named;
  const requested = container.resources?.requests ?? {};
  const mapped = extended.requestMappings.filter(
    ({ containerName, resourceName }) =>
      containerName === container.name && !/^0*$/.test(requested[resourceName] ?? ""),
  );
  return [
    ...named,
    ...mapped.map(({ requestName }) => ({
      claimName: extended.resourceClaimName,
      request: requestName,
      podClaim: undefined,
    })),
  ];
}

/** CDI devices of the container, in the order of its requests, each once. Throws `ClaimsNotReady`. */
export function cdiDevicesOf(
  pod: IdentifiedPod,
  container: Claiming,
  claims: ClaimTable,
): readonly string[] {
  // Most containers have none, and cost nothing.
  if (
    (container.resources?.claims ?? NONE).length === 0 &&
    !pod.status?.extendedResourceClaimStatus
  )
    return NONE;
  const ids = claimsOfContainer(pod, container).flatMap(({ claimName, request }) =>
    claimName === undefined
      ? []
      : devicesFor(infoOf(pod, claimName, claims), request).flatMap(({ cdiIds }) => cdiIds),
  );
  return [...new Set(ids)];
}

function claimsOfContainer(pod: IdentifiedPod, container: Claiming): readonly ContainerClaim[] {
  try {
    return containerClaims(pod, container);
  } catch (error) {
    if (!(error instanceof PodClaimError)) throw error;
    throw new ClaimsNotReady(error.message, { cause: error });
  }
}

function infoOf(
  { metadata: { namespace, uid } }: IdentifiedPod,
  name: string,
  claims: ClaimTable,
): ClaimInfo {
  const info = claims.get(claimKey({ namespace, name }));
  if (info?.pods.has(uid)) return info;
  throw new ClaimsNotReady(
    `internal error: unable to get claim info for ResourceClaim ${name} in namespace ${namespace}`,
  );
}
