/**
 * What is mounted into containers. Owns: the volume folders of pods. In: pods to prepare or to clear.
 * Out: mounts of a container. Invariants: preparing twice changes nothing; clearing follows no link and
 * crosses no mount point.
 */
import type { Container, Pod, Volume } from "../../api/generated/types.ts";
import { containerDirectory, podPaths } from "../../api/pod-paths.ts";
import { OutsideError } from "../../kit/errors.ts";
import type { Random } from "../../kit/random.ts";
import type { DeepPartial } from "../../outside/cri/cri.ts";
import { type Mount, MountPropagation } from "../../outside/cri/generated/api.ts";
import type { FileKind, Files } from "../../outside/host/host.ts";

export interface VolumeOptions {
  readonly roots: { readonly root: string; readonly logs: string };
}

export interface VolumeDeps {
  readonly files: Files;
  readonly random: Random;
}

const EMPTY_DIR_MODE = 0o777;
const HOST_DIRECTORY_MODE = 0o755;
const HOST_FILE_MODE = 0o644;
const TERMINATION_LOG_MODE = 0o666;

const PROPAGATION: Readonly<Record<string, MountPropagation>> = {
  HostToContainer: MountPropagation.PROPAGATION_HOST_TO_CONTAINER,
  Bidirectional: MountPropagation.PROPAGATION_BIDIRECTIONAL,
};

export class Volumes {
  readonly #options: VolumeOptions;
  readonly #deps: VolumeDeps;

  constructor(options: VolumeOptions, deps: VolumeDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Makes every volume of the pod; throws with the volume's name what cannot be had. */
  async mount(pod: Pod): Promise<void> {
    for (const volume of pod.spec?.volumes ?? []) {
      if (volume.emptyDir)
        await this.#deps.files.makeDirectory(this.#emptyDir(pod, volume.name), EMPTY_DIR_MODE);
      else if (volume.hostPath) await this.#checkHostPath(volume.name, volume.hostPath);
      else
        throw new OutsideError(
          "unimplemented",
          `volume "${volume.name}": this kind is not supported`,
        );
    }
  }

  /** Removes every volume of the pod with its content. */
  async unmount(pod: Pod): Promise<void> {
    await this.#deps.files.removeTree(podPaths(this.#options.roots, pod).volumes);
  }

  /** The mounts of one container: its volumes and the file of its termination message, which is made. */
  async mounts(pod: Pod, container: Container): Promise<readonly DeepPartial<Mount>[]> {
    const volumes = new Map((pod.spec?.volumes ?? []).map((volume) => [volume.name, volume]));
    const mounts: DeepPartial<Mount>[] = [];
    for (const mount of container.volumeMounts ?? []) {
      const volume = volumes.get(mount.name);
      if (!volume)
        throw new OutsideError("invalid", `volumeMounts: no volume named "${mount.name}"`);
      mounts.push({
        containerPath: mount.mountPath,
        hostPath: this.#hostPath(pod, volume),
        readonly: mount.readOnly ?? false,
        propagation:
          PROPAGATION[mount.mountPropagation ?? ""] ?? MountPropagation.PROPAGATION_PRIVATE,
      });
    }
    const messagePath = container.terminationMessagePath ?? "";
    if (messagePath !== "")
      mounts.push({
        containerPath: messagePath,
        hostPath: await this.#terminationLog(pod, container),
      });
    return mounts;
  }

  #emptyDir(pod: Pod, name: string): string {
    return `${podPaths(this.#options.roots, pod).volumes}/kubernetes.io~empty-dir/${name}`;
  }

  #hostPath(pod: Pod, volume: Volume): string {
    return volume.hostPath ? volume.hostPath.path : this.#emptyDir(pod, volume.name);
  }

  /** A new empty file for each attempt, so that no message outlives the attempt that wrote it. */
  async #terminationLog(pod: Pod, container: Container): Promise<string> {
    const folder = containerDirectory(podPaths(this.#options.roots, pod), container.name);
    await this.#deps.files.makeDirectory(folder, 0o750);
    const path = `${folder}/${this.#deps.random.hex(4)}`;
    await this.#deps.files.writeAtomic(path, "", TERMINATION_LOG_MODE);
    return path;
  }

  async #checkHostPath(
    name: string,
    source: { readonly path: string; readonly type?: string },
  ): Promise<void> {
    const { path, type = "" } = source;
    const found = await this.#deps.files.facts(path, { follow: true });
    if (type === "DirectoryOrCreate" && !found)
      return this.#deps.files.makeDirectory(path, HOST_DIRECTORY_MODE);
    if (type === "FileOrCreate" && !found)
      return this.#deps.files.writeAtomic(path, "", HOST_FILE_MODE);
    const expected = HOST_PATH_KINDS[type];
    if (expected === undefined) return;
    if (!found)
      throw new OutsideError(
        "notFound",
        `MountVolume.SetUp failed for volume "${name}" : hostPath type check failed: ${path} does not exist`,
      );
    if (found.kind !== expected.kind) {
      throw new OutsideError(
        "invalid",
        `MountVolume.SetUp failed for volume "${name}" : hostPath type check failed: ${path} is not a ${expected.called}`,
      );
    }
  }
}

/** What a hostPath of each checked type must be; other types are not checked. */
const HOST_PATH_KINDS: Readonly<
  Record<string, { readonly kind: FileKind; readonly called: string }>
> = {
  Directory: { kind: "directory", called: "directory" },
  DirectoryOrCreate: { kind: "directory", called: "directory" },
  File: { kind: "file", called: "file" },
  FileOrCreate: { kind: "file", called: "file" },
  Socket: { kind: "socket", called: "socket file" },
};
