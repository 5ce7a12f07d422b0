// pure
import type { IdentifiedPod } from "../pod-identity.ts";

/** Paths of one pod below the agent's root and the log folder (layout of the Go kubelet). */
export interface PodPaths {
  /** `<root>/pods/<uid>`. */
  readonly directory: string;
  readonly volumes: string;
  /** Links to block volumes, `<plugin>/<volume>`. */
  readonly volumeDevices: string;
  /** Mount points of subpaths, `<volume>/<container>/<index>`. */
  readonly subPaths: string;
  readonly plugins: string;
  readonly etcHosts: string;
  /** `<logs>/<namespace>_<name>_<uid>`. */
  readonly logs: string;
}

/** The paths of `pod` below the given absolute roots. */
export function podPaths(
  roots: { readonly root: string; readonly logs: string },
  pod: IdentifiedPod,
): PodPaths {
  const { name, namespace, uid } = pod.metadata;
  const directory = `${roots.root}/pods/${uid}`;
  return {
    directory,
    volumes: `${directory}/volumes`,
    volumeDevices: `${directory}/volumeDevices`,
    subPaths: `${directory}/volume-subpaths`,
    plugins: `${directory}/plugins`,
    etcHosts: `${directory}/etc-hosts`,
    logs: `${roots.logs}/${namespace}_${name}_${uid}`,
  };
}

/** Folder of one container beneath the pod's; termination messages live in it. */
export function containerDirectory(paths: PodPaths, container: string): string {
  return `${containersFolder(paths)}/${container}`;
}

const containersFolder = ({ directory }: PodPaths): string => `${directory}/containers`;

/** What the agent keeps for containers to write to, each a file or a folder: the hosts file, termination messages. */
export function managedFiles(paths: PodPaths): readonly string[] {
  return [paths.etcHosts, containersFolder(paths)];
}

/** Path of an attempt's log beneath the pod's log folder, as CRI expects it. */
export function containerLogFile(container: string, restartCount: number): string {
  return `${container}/${restartCount}.log`;
}
