// pure
import type { Pod, Volume } from "../../api/generated/types.ts";
import { isLocalEphemeralVolume } from "../../api/pod/pod.ts";

/** A volume whose size is the agent's to measure. */
export interface MeasuredVolume {
  readonly name: string;
  /** Below the pod's folder of volumes. */
  readonly folder: string;
  /** Whether it counts as the pod's ephemeral storage. */
  readonly ephemeral: boolean;
}

/** The folder of each kind below the pod's volumes, as the Go kubelet lays them out. */
const PLUGINS = [
  ["emptyDir", "kubernetes.io~empty-dir"],
  ["configMap", "kubernetes.io~configmap"],
  ["secret", "kubernetes.io~secret"],
  ["downwardAPI", "kubernetes.io~downward-api"],
  ["projected", "kubernetes.io~projected"],
] as const satisfies readonly (readonly [keyof Volume, string])[];

/** The volumes of a pod that live in its folder. */
export function measuredVolumes(pod: Pod): readonly MeasuredVolume[] {
  return (pod.spec?.volumes ?? []).flatMap((volume) => {
    const kind = PLUGINS.find(([member]) => volume[member] !== undefined);
    if (!kind) return [];
    const folder = `${kind[1]}/${volume.name}`;
    return [{ name: volume.name, folder, ephemeral: isLocalEphemeralVolume(volume) }];
  });
}
