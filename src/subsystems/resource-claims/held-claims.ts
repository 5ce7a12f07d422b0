// pure
/** Claims as monitors read them (`PodResourcesLister`): of each container the claims that it uses, with all their devices. */
import { isRestartableInit } from "../../api/pod/pod.ts";
import { PodClaimError, usesClaims } from "../../api/pod-claims.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { DynamicResource } from "../../outside/plugins/plugins.ts";
import { type ClaimInfo, type ClaimTable, claimKey, devicesFor } from "./claim-info.ts";
import { containerClaims } from "./container-claims.ts";

type ShownClaims = { readonly dynamicResources: DynamicResource[] };

const NOTHING: ReadonlyMap<string, ShownClaims> = new Map();

/** The claims of the pod's containers, by container; none for a container of which one is not prepared. */
export function heldClaims(
  pod: IdentifiedPod,
  claims: ClaimTable,
): ReadonlyMap<string, ShownClaims> {
  // Most pods have none, and cost nothing.
  if (claims.size === 0 || !usesClaims(pod)) return NOTHING;
  const { spec, metadata } = pod;
  const sidecars = (spec?.initContainers ?? []).filter(isRestartableInit);
  const held = new Map<string, ShownClaims>();
  for (const container of [...sidecars, ...(spec?.containers ?? [])]) {
    const names = namesOf(pod, container);
    const infos = names.map((name) =>
      claims.get(claimKey({ namespace: metadata.namespace, name })),
    );
    const known = infos.filter((info) => info !== undefined);
    if (known.length === 0 || known.length < infos.length) continue;
    held.set(container.name, { dynamicResources: known.map(shownClaim) });
  }
  return held;
}

function namesOf(
  pod: IdentifiedPod,
  container: Parameters<typeof containerClaims>[1],
): readonly string[] {
  try {
    const named = containerClaims(pod, container).map(({ claimName }) => claimName);
    return [...new Set(named.filter((name) => name !== undefined))];
  } catch (error) {
    if (!(error instanceof PodClaimError)) throw error;
    return [];
  }
}

function shownClaim(info: ClaimInfo): DynamicResource {
  return {
    claimName: info.name,
    claimNamespace: info.namespace,
    claimResources: devicesFor(info, undefined).map(
      ({ driver, pool, device, cdiIds, shareId }) => ({
        cdiDevices: cdiIds.map((name) => ({ name })),
        driverName: driver,
        poolName: pool,
        deviceName: device,
        ...(shareId === undefined ? {} : { shareId }),
      }),
    ),
  };
}
