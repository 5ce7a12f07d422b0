// pure
import type { ResourceHealth, ResourceStatus } from "../../../api/generated/types.ts";
import { PodClaimError } from "../../../api/pod-claims.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import { type ClaimTable, claimKey, devicesFor } from "../claim-info.ts";
import { containerClaims } from "../container-claims.ts";
import { deviceKey, type ShownHealth } from "./device-health.ts";

/**
 * The devices of a regular container with their health, as its status shows them: an entry for each claim that it names, in its
 * order. Claims of extended resources have none.
 */
export function claimStatuses(
  pod: IdentifiedPod,
  name: string,
  claims: ClaimTable,
  healthOf: (driver: string, key: string) => ShownHealth,
): readonly ResourceStatus[] {
  const container = (pod.spec?.containers ?? []).find((each) => each.name === name);
  if (!container) return [];
  const { namespace, uid } = pod.metadata;
  return namedClaims(pod, container).flatMap(({ podClaim, claimName, request }) => {
    if (podClaim === undefined || claimName === undefined) return [];
    const info = claims.get(claimKey({ namespace, name: claimName }));
    if (!info?.pods.has(uid)) return [];
    const resources = new Map<string, ResourceHealth>();
    for (const { driver, pool, device, cdiIds } of devicesFor(info, request)) {
      const resourceID = cdiIds[0] ?? `${driver}/${pool}/${device}`;
      if (resources.has(resourceID)) continue;
      resources.set(resourceID, { resourceID, ...healthOf(driver, deviceKey(pool, device)) });
    }
    if (resources.size === 0) return [];
    const what = request === undefined || request === "" ? "" : `/${request}`;
    return [{ name: `claim:${podClaim}${what}`, resources: [...resources.values()] }];
  });
}

function namedClaims(...of: Parameters<typeof containerClaims>) {
  try {
    return containerClaims(...of);
  } catch (error) {
    if (!(error instanceof PodClaimError)) throw error;
    return [];
  }
}
