// pure
import type { Pod } from "../../api/generated/types.ts";
import { isLocalEphemeralVolume } from "../../api/pod/pod.ts";
import { servedSourceOf, VOLUME_SOURCES } from "../../api/pod/volume-sources.ts";
import type { MeasuredPod } from "./pods.ts";

/** A volume whose size is the agent's to measure. */
export interface MeasuredVolume {
  readonly name: string;
  /** Below the pod's folder of volumes. */
  readonly folder: string;
  /** Whether it counts as the pod's ephemeral storage. */
  readonly ephemeral: boolean;
}

/** Pods are replaced, never changed, so their volumes are derived once. */
const known = new WeakMap<Pod, readonly MeasuredVolume[]>();

/** The volumes of a pod that live in its folder. */
export function measuredVolumes(pod: Pod): readonly MeasuredVolume[] {
  const found = known.get(pod);
  if (found) return found;
  const volumes = readVolumes(pod);
  known.set(pod, volumes);
  return volumes;
}

function readVolumes(pod: Pod): readonly MeasuredVolume[] {
  return (pod.spec?.volumes ?? []).flatMap((volume) => {
    const source = servedSourceOf(volume);
    const served = source === undefined ? undefined : VOLUME_SOURCES[source];
    if (!served?.measured) return [];
    const folder = `${served.folder}/${volume.name}`;
    return [{ name: volume.name, folder, ephemeral: isLocalEphemeralVolume(volume) }];
  });
}

/** Folders of one pod that are measured. */
export interface PodFolders {
  /** Logs, and what its containers can write to beside their layers and volumes. */
  readonly written: readonly string[];
  readonly volumes: readonly string[];
  /** Those of the volumes that count as the pod's ephemeral storage. */
  readonly ephemeral: readonly string[];
}

/** Pods without claims are the same objects until they change, so the names of their folders are made once. */
const knownFolders = new WeakMap<MeasuredPod, PodFolders>();

/** The folders of a pod's logs, managed files and volumes. */
export function foldersOf(pod: MeasuredPod): PodFolders {
  const found = knownFolders.get(pod);
  if (found) return found;
  const { logsFolder, volumesFolder, managedFiles, containers } = pod;
  const volumes = measuredVolumes(pod.pod);
  const pathOf = ({ folder }: MeasuredVolume) => `${volumesFolder}/${folder}`;
  const folders = {
    written: [...containers.map(({ name }) => `${logsFolder}/${name}`), ...managedFiles],
    volumes: volumes.map(pathOf),
    ephemeral: volumes.filter(({ ephemeral }) => ephemeral).map(pathOf),
  };
  knownFolders.set(pod, folders);
  return folders;
}
