import type { SecretReference } from "../../api/generated/types.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { CsiVolumeRequest } from "../../api/ports/csi-volumes.ts";
import { inlineHandle } from "./csi-paths.ts";

/** A volume of a pod as the steps need it, whatever it comes from. */
export interface CsiOrder {
  /** Name of the volume among all: pods of one persistent volume share it. */
  readonly key: string;
  readonly driver: string;
  readonly handle: string;
  /** Name of the persistent volume, or the one in the pod's spec. */
  readonly specName: string;
  readonly pod: IdentifiedPod;
  readonly podUid: string;
  /** Name in the pod's spec. */
  readonly volume: string;
  readonly isInline: boolean;
  readonly isBlock: boolean;
  readonly readOnly: boolean;
  readonly fsType: string;
  readonly mountFlags: readonly string[];
  readonly accessModes: readonly string[];
  readonly attributes: Readonly<Record<string, string>>;
  readonly stageSecret?: SecretReference;
  readonly publishSecret?: SecretReference;
  readonly expandSecret?: SecretReference;
  readonly request: CsiVolumeRequest;
}

/** The order for a volume of a pod. */
export function orderOf(request: CsiVolumeRequest): CsiOrder {
  const { pod, volume, source } = request;
  const common = { pod, volume, podUid: pod.metadata.uid, request };
  if (source.kind === "inline") {
    const { driver, readOnly = false, fsType = "", volumeAttributes = {} } = source.csi;
    const { nodePublishSecretRef: secret } = source.csi;
    const { namespace, uid } = pod.metadata;
    return {
      ...common,
      key: `kubernetes.io/csi/${uid}-${volume}`,
      driver,
      handle: inlineHandle(uid, volume),
      specName: volume,
      isInline: true,
      isBlock: false,
      readOnly,
      fsType,
      mountFlags: [],
      accessModes: ["ReadWriteOnce"],
      attributes: volumeAttributes,
      ...(secret?.name ? { publishSecret: { name: secret.name, namespace } } : {}),
    };
  }
  const { spec = {}, metadata } = source.pv;
  const { driver = "", volumeHandle = "", fsType = "", volumeAttributes = {} } = spec.csi ?? {};
  const { nodeStageSecretRef, nodePublishSecretRef, nodeExpandSecretRef } = spec.csi ?? {};
  return {
    ...common,
    key: persistentKey(driver, volumeHandle),
    driver,
    handle: volumeHandle,
    specName: metadata?.name ?? "",
    isInline: false,
    isBlock: spec.volumeMode === "Block",
    readOnly: source.readOnly,
    fsType,
    mountFlags: spec.mountOptions ?? [],
    accessModes: spec.accessModes ?? [],
    attributes: volumeAttributes,
    ...(nodeStageSecretRef ? { stageSecret: nodeStageSecretRef } : {}),
    ...(nodePublishSecretRef ? { publishSecret: nodePublishSecretRef } : {}),
    ...(nodeExpandSecretRef ? { expandSecret: nodeExpandSecretRef } : {}),
  };
}

/** Name of a persistent volume among all, as nodes' statuses have it. */
export const persistentKey = (driver: string, handle: string): string =>
  `kubernetes.io/csi/${driver}^${handle}`;
