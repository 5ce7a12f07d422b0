// pure
import type { Pod } from "../../api/generated/types.ts";
import { isLocalEphemeralVolume } from "../../api/pod/pod.ts";
import { servedSourceOf, VOLUME_SOURCES } from "../../api/pod/volume-sources.ts";
import { derivedOnce } from "../../kit/derived-once.ts";
import type { MeasuredPod } from "./pods.ts";

/** A volume whose size is the agent's to measure. */
interface MeasuredVolume {
  readonly name: string;
  /** Below the pod's folder of volumes. */
  readonly folder: string;
  /** Whether it counts as the pod's ephemeral storage. */
  readonly ephemeral: boolean;
}

/** The volumes of a pod that live in its folder. */
export const measuredVolumes = derivedOnce((pod: Pod): readonly MeasuredVolume[] =>
  (pod.spec?.volumes ?? []).flatMap((volume) => {
    const source = servedSourceOf(volume);
    const served = source === undefined ? undefined : VOLUME_SOURCES[source];
    if (!served?.measured) return [];
    const folder = `${served.folder}/${volume.name}`;
    return [{ name: volume.name, folder, ephemeral: isLocalEphemeralVolume(volume) }];
  }),
);

/** Folders of one pod that are measured. */
interface PodFolders {
  /** Logs, and what its containers can write to beside their layers and volumes. */
  readonly written: readonly string[];
  readonly volumes: readonly string[];
  /** Those of the volumes that count as the pod's ephemeral storage. */
  readonly ephemeral: readonly string[];
}

/** The folders of a pod's logs, managed files and volumes. A pod without claims is the same object until it changes. */
export const foldersOf = derivedOnce((pod: MeasuredPod): PodFolders => {
  const { logsFolder, volumesFolder, managedFiles, containers } = pod;
  const volumes = measuredVolumes(pod.pod);
  const pathOf = ({ folder }: MeasuredVolume) => `${volumesFolder}/${folder}`;
  return {
    written: [...containers.map(({ name }) => `${logsFolder}/${name}`), ...managedFiles],
    volumes: volumes.map(pathOf),
    ephemeral: volumes.filter(({ ephemeral }) => ephemeral).map(pathOf),
  };
});
