// pure
import type { Container, Pod } from "../../api/generated/types.ts";
import { isRestartableInit } from "../../api/pod/pod.ts";
import { amountOf } from "../../api/pod/pod-resources.ts";
import { isExtendedResource } from "../../api/validation/resources.ts";

/** How long a container holds its devices beside the others of its pod. */
export type HolderKind = "init" | "sidecar" | "regular";

/** So and so many devices of one resource. */
export interface Want {
  readonly resource: string;
  readonly amount: number;
}

/** What one container asks for. */
export interface ContainerWants {
  readonly container: string;
  readonly kind: HolderKind;
  /** Its place among the init containers; regular ones come after all of them. */
  readonly order: number;
  /** Sorted by resource; never empty. */
  readonly wants: readonly Want[];
}

/**
 * The containers that ask for extended resources, init containers first, in the order of the spec. Only
 * limits count; what a resource claim stands behind (DRA) is left out, and ephemeral containers have none.
 */
export function deviceWants(pod: Pod): readonly ContainerWants[] {
  const claimed = claimedResources(pod);
  const inits = pod.spec?.initContainers ?? [];
  const wantsOf = (container: Container, kind: HolderKind, order: number): ContainerWants[] => {
    const wants = extendedLimits(container).filter(
      ({ resource }) => !claimed.has(`${container.name} ${resource}`),
    );
    return wants.length === 0 ? [] : [{ container: container.name, kind, order, wants }];
  };
  return [
    ...inits.flatMap((container, i) =>
      wantsOf(container, isRestartableInit(container) ? "sidecar" : "init", i),
    ),
    ...(pod.spec?.containers ?? []).flatMap((container) =>
      wantsOf(container, "regular", inits.length),
    ),
  ];
}

/** Whether any container asks for an extended resource. */
export function wantsDevices(pod: Pod): boolean {
  return deviceWants(pod).length > 0;
}

function extendedLimits({ resources }: Container): readonly Want[] {
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
