/** Port of the pods module for prerequisites of pods: folders, cgroup, volumes. */
import { podPaths } from "../../api/pod/pod-paths.ts";
import { qosClassOf } from "../../api/pod/qos.ts";
import { activePods, type PodFacts } from "../../api/pod-facts.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { Outside } from "../../outside/outside.ts";
import { type Cgroups, tryUpdateQos } from "../../subsystems/cgroups/cgroups.ts";
import type { Environments } from "../../subsystems/environment/environment.ts";
import type { Logs } from "../../subsystems/logs/logs.ts";
import type { Runtime } from "../../subsystems/runtime/runtime.ts";
import type { Volumes } from "../../subsystems/volumes/volumes.ts";
import type { PodPorts } from "../pods/ports.ts";

/** Folders of the agent: state below `root`, container logs below `logs`. */
export interface PodRoots {
  readonly root: string;
  readonly logs: string;
}

const POD_FOLDER_MODE = 0o750;
const LOG_FOLDER_MODE = 0o755;

export interface PrerequisitesPortDeps {
  readonly outside: Outside;
  readonly cgroups: Cgroups;
  readonly environments: Environments;
  readonly logs: Logs;
  readonly runtime: Runtime;
  readonly volumes: Volumes;
  readonly podFacts: PodFacts;
}

/** Folders, groups and volumes of pods below `roots`. */
export function prerequisitesPort(
  roots: PodRoots,
  deps: PrerequisitesPortDeps,
): PodPorts["prerequisites"] {
  const { podFiles: files } = deps.outside.host;
  const uidOf = (pod: IdentifiedPod) => pod.metadata.uid;
  return {
    makeDirectories: async (pod) => {
      const paths = podPaths(roots, pod);
      const missing = await files.makeDirectories([
        { path: paths.directory, mode: POD_FOLDER_MODE },
        { path: paths.volumes, mode: POD_FOLDER_MODE },
        { path: paths.plugins, mode: POD_FOLDER_MODE },
        { path: paths.logs, mode: LOG_FOLDER_MODE },
      ]);
      const isLogFolderNew = missing.at(-1) === true;
      if (isLogFolderNew) deps.logs.folderMade(pod);
    },
    removeDirectories: async (pod) => {
      const paths = podPaths(roots, pod);
      await files.removeTree(paths.directory);
      await files.removeTree(paths.logs);
      deps.logs.folderRemoved(pod);
    },
    createCgroup: async (pod) => {
      await tryUpdateQos(deps.cgroups, activePods(deps.podFacts), deps.outside.log);
      return deps.cgroups.ensurePod(pod);
    },
    removeCgroup: async (pod) => {
      await deps.cgroups.removePod(uidOf(pod), qosClassOf(pod));
      await deps.runtime.releaseIds(uidOf(pod));
    },
    thawCgroup: (pod) => deps.cgroups.thawPod(uidOf(pod), qosClassOf(pod)),
    mountVolumes: async (pod, signal) => {
      deps.environments.follow(pod);
      await deps.volumes.mount(pod, signal);
    },
    unmountVolumes: async (pod, signal) => {
      deps.environments.forget(uidOf(pod));
      await deps.volumes.unmount(pod, signal);
    },
  };
}
