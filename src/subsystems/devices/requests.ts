// pure
import type { Container, Pod } from "../../api/generated/types.ts";
import { type ContainerKind, initContainerKind } from "../../api/pod/pod.ts";
import { amountOf } from "../../api/pod/pod-resources.ts";
import { isExtendedResource } from "../../api/validation/resources.ts";

/** How long a container holds its devices beside the others of its pod. */
type HolderKind = Exclude<ContainerKind, "ephemeral">;

/** An amount of devices of one resource. */
export interface ResourceRequest {
  readonly resource: string;
  readonly amount: number;
}

/** The device requests of one container. */
export interface ContainerRequests {
  readonly container: string;
  readonly kind: HolderKind;
  /** Its place among the init containers; regular ones come after all of them. */
  readonly order: number;
  /** Sorted by resource; never empty. */
  readonly resources: readonly ResourceRequest[];
}

/**
 * The containers that ask for extended resources, init containers first, in the order of the spec. Only
 * limits count; what a resource claim stands behind (DRA) is left out, and ephemeral containers have none.
 */
export function deviceRequests(pod: Pod): readonly ContainerRequests[] {
  const claimed = claimedResources(pod);
  const inits = pod.spec?.initContainers ?? [];
  const requestsOf = (
    container: Container,
    kind: HolderKind,
    order: number,
  ): ContainerRequests[] => {
    const requests = extendedLimits(container).filter(
      ({ resource }) => !claimed.has(`${container.name} ${resource}`),
    );
    return requests.length === 0
      ? []
      : [{ container: container.name, kind, order, resources: requests }];
  };
  return [
    ...inits.flatMap((container, i) => requestsOf(container, initContainerKind(container), i)),
    ...(pod.spec?.containers ?? []).flatMap((container) =>
      requestsOf(container, "regular", inits.length),
    ),
  ];
}

function extendedLimits({ resources }: Container): readonly ResourceRequest[] {
  return Object.entries(resources?.limits ?? {})
    .filter(([resource]) => isExtendedResource(resource))
    .map(([resource, text]) => ({ resource, amount: amountOf(resource, text) }))
    .filter(({ amount }) => amount > 0)
    .sort((a, b) => compareText(a.resource, b.resource));
}

function claimedResources({ status }: Pod): ReadonlySet<string> {
  const mappings = status?.extendedResourceClaimStatus?.requestMappings ?? [];
  return new Set(mappings.map((mapping) => `${mapping.containerName} ${mapping.resourceName}`));
}

/** The order of texts by code unit, which does not depend on anybody's language. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
