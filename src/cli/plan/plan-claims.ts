// pure
/** What the resource claims of a pod would need before it can start. */
import type { Pod } from "../../api/generated/types.ts";

/** One claim of a pod. */
export interface PlannedClaim {
  /** As the pod's spec calls it. */
  readonly name: string;
  /** The object that must be there: the claim, or the template that one is made from. */
  readonly needs: string;
  /** Containers that get devices of it, with the request where they name one: `main`, `main (gpu)`. */
  readonly containers: readonly string[];
}

/** The claims of the pod in the order of its spec. */
export function planClaimsOf({ spec }: Pick<Pod, "spec">): readonly PlannedClaim[] {
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  return (spec?.resourceClaims ?? []).map(
    ({ name, resourceClaimName, resourceClaimTemplateName = "" }) => ({
      name,
      needs:
        resourceClaimName === undefined
          ? `a claim made from ResourceClaimTemplate ${resourceClaimTemplateName}`
          : `ResourceClaim ${resourceClaimName}`,
      containers: containers.flatMap(({ name: container, resources }) =>
        (resources?.claims ?? [])
          .filter((claim) => claim.name === name)
          .map(({ request = "" }) => (request === "" ? container : `${container} (${request})`)),
      ),
    }),
  );
}

/** What all claims need, as a note. */
export const CLAIMS_NOTE =
  "a pod with claims waits until each is allocated and reserved for it, the DRA drivers of its devices are registered on the node and have prepared it, and the runtime knows CDI devices (containerd 1.7, CRI-O 1.27)";
