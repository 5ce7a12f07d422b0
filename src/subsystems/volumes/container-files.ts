import { hostNetworkHostsFile, hostsFile } from "../../api/etc-hosts.ts";
import type { Container, Pod } from "../../api/generated/types.ts";
import { podHostname } from "../../api/pod-hostname.ts";
import { containerDirectory, podPaths } from "../../api/pod-paths.ts";
import type { Random } from "../../kit/random.ts";
import type { DeepPartial } from "../../outside/cri/cri.ts";
import { type Mount, MountPropagation } from "../../outside/cri/generated/api.ts";
import type { Files, VolumeFiles } from "../../outside/host/host.ts";

const HOSTS = "/etc/hosts";
const HOSTS_MODE = 0o644;
const HOSTS_MAX_BYTES = 1024 * 1024;
const TERMINATION_LOG_MODE = 0o666;
const FOLDER_MODE = 0o750;

/** What files that the agent keeps for containers are made with. */
export interface ContainerFileDeps {
  readonly files: Files;
  readonly volumes: VolumeFiles;
  readonly random: Random;
}

/** What they are made from. */
export interface ContainerFileOptions {
  readonly roots: { readonly root: string; readonly logs: string };
  readonly clusterDomain: string;
}

/**
 * /etc/hosts, written anew for every attempt as the reference does; not where the container mounts
 * something there itself, nor before the pod has an address.
 */
export async function hostsMount(
  {
    pod,
    container,
    podIps,
  }: { readonly pod: Pod; readonly container: Container; readonly podIps: readonly string[] },
  { roots, clusterDomain }: ContainerFileOptions,
  { files, volumes }: ContainerFileDeps,
): Promise<readonly DeepPartial<Mount>[]> {
  const taken = (container.volumeMounts ?? []).some(({ mountPath }) => mountPath === HOSTS);
  if (taken || podIps.length === 0) return [];
  const path = podPaths(roots, pod).etcHosts;
  const aliases = pod.spec?.hostAliases ?? [];
  const text =
    pod.spec?.hostNetwork === true
      ? hostNetworkHostsFile(
          (await files.readText(HOSTS, { maxBytes: HOSTS_MAX_BYTES })) ?? "",
          aliases,
        )
      : hostsFile({ podIps, ...podHostname(pod, clusterDomain), aliases });
  await volumes.overwrite(path, text, HOSTS_MODE);
  return [{ containerPath: HOSTS, hostPath: path, readonly: false }];
}

/** A new empty file for each attempt, so that no message outlives the attempt that wrote it. */
export async function terminationLogMount(
  pod: Pod,
  container: Container,
  { roots }: ContainerFileOptions,
  { files, random }: ContainerFileDeps,
): Promise<readonly DeepPartial<Mount>[]> {
  const containerPath = container.terminationMessagePath ?? "";
  if (containerPath === "") return [];
  const folder = containerDirectory(podPaths(roots, pod), container.name);
  await files.makeDirectory(folder, FOLDER_MODE);
  const hostPath = `${folder}/${random.hex(4)}`;
  await files.writeAtomic(hostPath, "", TERMINATION_LOG_MODE);
  const propagation = MountPropagation.PROPAGATION_PRIVATE;
  return [{ containerPath, hostPath, propagation }];
}
