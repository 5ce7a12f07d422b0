// pure
import type { Pod } from "../../api/generated/types.ts";
import { isLocalEphemeralVolume } from "../../api/pod/pod.ts";
import { servedSourceOf, VOLUME_SOURCES } from "../../api/pod/volume-sources.ts";

/** A volume whose size is the agent's to measure. */
export interface MeasuredVolume {
  readonly name: string;
  /** Below the pod's folder of volumes. */
  readonly folder: string;
  /** Whether it counts as the pod's ephemeral storage. */
  readonly ephemeral: boolean;
}

/** The volumes of a pod that live in its folder. */
export function measuredVolumes(pod: Pod): readonly MeasuredVolume[] {
  return (pod.spec?.volumes ?? []).flatMap((volume) => {
    const source = servedSourceOf(volume);
    const served = source === undefined ? undefined : VOLUME_SOURCES[source];
    if (!served?.measured) return [];
    const folder = `${served.folder}/${volume.name}`;
    return [{ name: volume.name, folder, ephemeral: isLocalEphemeralVolume(volume) }];
  });
}
