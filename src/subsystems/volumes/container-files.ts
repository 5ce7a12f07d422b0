import type { Container } from "../../api/generated/types.ts";
import { hostNetworkHostsFile, hostsFile } from "../../api/pod/etc-hosts.ts";
import { podHostname } from "../../api/pod/pod-hostname.ts";
import { containerDirectory, podPaths } from "../../api/pod/pod-paths.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { DeepPartial } from "../../outside/cri/cri.ts";
import { type Mount, MountPropagation } from "../../outside/cri/generated/api.ts";
import type { OverwrittenFile, PodFiles } from "../../outside/host/host.ts";

const HOSTS = "/etc/hosts";
const HOSTS_MODE = 0o644;
const HOSTS_MAX_BYTES = 1024 * 1024;
const TERMINATION_LOG_MODE = 0o666;
const FOLDER_MODE = 0o750;

/** Folders of the agent, and the domain for names in /etc/hosts. */
interface ContainerFileOptions {
  readonly roots: { readonly root: string; readonly logs: string };
  readonly clusterDomain: string;
}

/** A file that the agent keeps for a container: what it is to hold, and where the container sees it. */
interface ContainerFile {
  readonly file: OverwrittenFile;
  readonly mount: DeepPartial<Mount>;
}

/**
 * /etc/hosts, rewritten for every attempt as the Go kubelet does; not where the container mounts
 * something there itself, nor before the pod has an address.
 */
export async function hostsFileFor(
  {
    pod,
    container,
    podIps,
  }: {
    readonly pod: IdentifiedPod;
    readonly container: Container;
    readonly podIps: readonly string[];
  },
  { roots, clusterDomain }: ContainerFileOptions,
  files: Pick<PodFiles, "readText">,
): Promise<ContainerFile | undefined> {
  const taken = (container.volumeMounts ?? []).some(({ mountPath }) => mountPath === HOSTS);
  if (taken || podIps.length === 0) return undefined;
  const path = podPaths(roots, pod).etcHosts;
  const aliases = pod.spec?.hostAliases ?? [];
  const text =
    pod.spec?.hostNetwork === true
      ? hostNetworkHostsFile(
          (await files.readText(HOSTS, { maxBytes: HOSTS_MAX_BYTES })) ?? "",
          aliases,
        )
      : hostsFile({ podIps, ...podHostname(pod, clusterDomain), aliases });
  return {
    file: { path, text, mode: HOSTS_MODE },
    mount: { containerPath: HOSTS, hostPath: path, readonly: false },
  };
}

/** One attempt of a container. */
export interface AttemptWithFiles {
  readonly pod: IdentifiedPod;
  readonly container: string;
  readonly restartCount: number;
}

/** A new empty file for each attempt, so that no message outlives the attempt that wrote it. */
export function terminationLogFor(
  attempt: AttemptWithFiles,
  containerPath: string,
  options: ContainerFileOptions,
): ContainerFile | undefined {
  if (containerPath === "") return undefined;
  const hostPath = terminationLogPath(attempt, options);
  return {
    // Not synced to the disk: after a crash of the machine nothing is left that would write to it.
    file: { path: hostPath, text: "", mode: TERMINATION_LOG_MODE, folderMode: FOLDER_MODE },
    mount: { containerPath, hostPath, propagation: MountPropagation.PROPAGATION_PRIVATE },
  };
}

/** Eight digits as the Go kubelet's, which are random there: its attempts leave their files until the pod is gone. */
export function terminationLogPath(
  { pod, container, restartCount }: AttemptWithFiles,
  { roots }: Pick<ContainerFileOptions, "roots">,
): string {
  const folder = containerDirectory(podPaths(roots, pod), container);
  return `${folder}/${restartCount.toString(16).padStart(8, "0")}`;
}
