import type { PersistentVolumeSpec } from "../../src/api/generated/types.ts";
import type { ClusterNode } from "../kube/cluster-node.ts";

const CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims";
const STORAGE = "32Mi";

/** A volume with a claim of the same name, bound to one another as a controller would. */
export async function boundClaim(
  { server }: ClusterNode,
  name: string,
  spec: Partial<PersistentVolumeSpec> & { readonly storageClassName: string },
): Promise<void> {
  const accessModes = ["ReadWriteOnce"];
  const { volumeMode = "Filesystem", storageClassName } = spec;
  const claim = await server.must<{ metadata: { uid: string } }>("POST", CLAIMS, {
    metadata: { name },
    spec: {
      accessModes,
      volumeMode,
      storageClassName,
      volumeName: name,
      resources: { requests: { storage: STORAGE } },
    },
  });
  await server.must("POST", "/api/v1/persistentvolumes", {
    metadata: { name },
    spec: {
      accessModes,
      capacity: { storage: STORAGE },
      ...spec,
      claimRef: { namespace: "default", name, uid: claim.metadata.uid },
    },
  });
  const status = { phase: "Bound", capacity: { storage: STORAGE } };
  await server.must("PUT", `${CLAIMS}/${name}/status`, { ...claim, status });
}
