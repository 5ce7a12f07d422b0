/** Resource claims as a control plane keeps them. */
import type { Pod } from "../../src/api/generated/types.ts";

/** Path of the API of claims. */
export const CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";

/** A claim for one device. */
export const claimObject = (name: string) => ({
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceClaim",
  metadata: { name },
  spec: {
    devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "any", count: 1 } }] },
  },
});

/** The status after a scheduler has given the claim a device of a driver, and reserved it for the pods. */
export function allocatedStatus(
  { driver, device }: { readonly driver: string; readonly device: string },
  pods: readonly Pod[],
): object {
  return {
    allocation: { devices: { results: [{ request: "gpu", driver, pool: "p", device }] } },
    reservedFor: pods.map(({ metadata }) => ({
      resource: "pods",
      name: metadata?.name,
      uid: metadata?.uid,
    })),
  };
}
