import { LOCAL_PLUGIN, localVolumePaths } from "../../api/plugin-paths.ts";
import { isFileName } from "../../api/text/path-names.ts";
import { VolumeStepError, wrong } from "../../api/volume-step.ts";
import { isOutside, messageOf, OutsideError } from "../../kit/errors.ts";
import { Turns } from "../../kit/limits/turns.ts";
import {
  type GroupOwnership,
  isMountPoint,
  type PodFiles,
  type VolumeFiles,
} from "../../outside/host/host.ts";

const FOLDER_MODE = 0o750;

interface LocalVolumeDeps {
  readonly files: PodFiles;
  readonly volumes: VolumeFiles;
}

/** A persistent volume on this node. */
interface LocalVolume {
  /** Name of the persistent volume. */
  readonly name: string;
  /** Folder or block device of the node. */
  readonly path: string;
}

/** A local volume to be mounted for a pod. */
interface LocalMount extends LocalVolume {
  /** Mount point in the pod's folder. */
  readonly target: string;
  /** Of a block device: what it is formatted with. */
  readonly fsType: string;
  /** As mount(8) takes them. */
  readonly options: readonly string[];
  readonly group?: GroupOwnership;
  /** Called with the volume's group where other pods use it with another one already. */
  readonly onOtherGroup: (groupId: number) => void;
}

/** A local volume to be a pod's as the block device it is. */
interface LocalMap extends LocalVolume {
  readonly podUid: string;
  /** The pod's folder of links to block volumes. */
  readonly links: string;
}

/** A block volume that is there. */
interface MappedVolume {
  /** The device's node, for containers. */
  readonly node: string;
  /** Folder of the nodes of all pods that have it. */
  readonly nodes: string;
  /** `major:minor`. */
  readonly number: string;
  readonly isNew: boolean;
}

/**
 * Local persistent volumes where the Go kubelet puts them. What several pods share (the file system of a
 * block device) is made for the first and taken away after the last; who the last is says the table of
 * mounts. Work on one volume is done one after the other, so that none is taken away while it is given.
 */
export class LocalVolumes {
  readonly #deps: LocalVolumeDeps;
  readonly #pods: string;
  readonly #mounts: string;
  readonly #nodes: string;
  readonly #turns = new Turns();
  /** Volumes that were begun to be made. */
  #begun = 0;
  /** Value of `#begun` when no pod had mounts or devices. */
  #unusedAt: number | undefined;

  constructor(root: string, deps: LocalVolumeDeps) {
    this.#deps = deps;
    this.#pods = `${root}/pods`;
    const { mounts, nodes } = localVolumePaths(root);
    this.#mounts = mounts;
    this.#nodes = nodes;
  }

  /** Whether the pod has the volume mounted. */
  async isMounted(target: string): Promise<boolean> {
    return await isMountPoint(this.#deps.volumes, target);
  }

  /** Whether the pod has the volume's device. */
  async isMapped({ name }: LocalVolume, podUid: string): Promise<boolean> {
    return (await this.#deps.files.facts(`${this.#nodes}/${name}/${podUid}`))?.device === "block";
  }

  /** Mounts the volume for a pod; one that the pod has already stays what it is. */
  async mount(request: LocalMount): Promise<void> {
    checkNames(request);
    this.#begun += 1;
    await this.#turns.take(request.name, async () => {
      const { files, volumes } = this.#deps;
      const isThere = await this.isMounted(request.target);
      if (!isThere) await this.#bind(request);
      // A volume of several pods keeps the group of the first.
      if (!request.group) return;
      if ((await this.#users(request.name)).length > 1) {
        const facts = isThere ? undefined : await files.facts(request.target);
        if (facts && facts.groupId !== request.group.groupId) request.onOtherGroup(facts.groupId);
        return;
      }
      // An agent may have been killed on its way through the folders: the topmost gets its group last.
      const onlyOnMismatch = isThere || request.group.onlyOnMismatch === true;
      try {
        await volumes.giveToGroup(request.target, { ...request.group, onlyOnMismatch });
      } catch (error) {
        if (!isThere) await volumes.unmount(request.target);
        throw error;
      }
    });
  }

  /** Gives a pod the volume's device; one that the pod has already stays what it is. */
  async map(request: LocalMap): Promise<MappedVolume> {
    checkNames(request);
    const { name, path, podUid, links } = request;
    this.#begun += 1;
    const { files, volumes } = this.#deps;
    return await this.#turns.take(name, async () => {
      const nodes = `${this.#nodes}/${name}`;
      const node = `${nodes}/${podUid}`;
      const { number, isNew } = await volumes.mapDevice(path, node);
      await files.makeDirectory(links, FOLDER_MODE);
      await files.link(path, `${links}/${name}`);
      return { node, nodes, number, isNew };
    });
  }

  /**
   * Releases the pod's volumes after its own mounts are removed, and unmounts those that no pod uses. A
   * volume that is just being made for another pod is left to that pod's end.
   */
  async release(podUid: string): Promise<void> {
    const begun = this.#begun;
    // Most nodes have no local volumes: their pods end without a search for them.
    if (this.#unusedAt === begun) return;
    const { files } = this.#deps;
    const nodes = await this.#names(this.#nodes);
    const mounts = await this.#names(this.#mounts);
    if (nodes.length === 0 && mounts.length === 0) this.#unusedAt = begun;
    for (const name of nodes)
      if (await files.facts(`${this.#nodes}/${name}/${podUid}`))
        await this.#turns.take(name, () => this.#unmap(name, podUid));
    for (const name of mounts)
      if (!this.#turns.isTaken(name)) await this.#turns.take(name, () => this.#unmountUnused(name));
  }

  async #bind(request: LocalMount): Promise<void> {
    const { files, volumes } = this.#deps;
    const { path, target, options } = request;
    const facts = await files.facts(path, { follow: true });
    if (!facts) throw wrong(`path "${path}" does not exist`);
    const isDevice = facts.device === "block";
    if (!isDevice && facts.kind !== "directory")
      throw wrong("only directory and block device are supported");
    const source = isDevice ? await this.#mountDevice(request) : path;
    await files.makeDirectory(target, FOLDER_MODE);
    await volumes.bind(source, target, options);
  }

  async #mountDevice({ name, path, fsType, options }: LocalMount): Promise<string> {
    const { files, volumes } = this.#deps;
    const target = `${this.#mounts}/${name}`;
    // A folder that is there may be the device's own by now, with rights of its own.
    if (!(await files.facts(target))) await files.makeDirectory(target, FOLDER_MODE);
    try {
      await volumes.mountDevice({ source: path, target, fsType, options });
      return target;
    } catch (error) {
      if (!(await this.isMounted(target))) await files.remove(target);
      const what = `local: failed to mount device ${path} at ${target} (fstype: ${fsType})`;
      const code = isOutside(error) ? error.code : "precondition";
      const cause = new OutsideError(code, `${what}, error ${messageOf(error)}`, { cause: error });
      const step = "MountVolume.MountDevice";
      throw new VolumeStepError({ step, volume: name, reason: "FailedMount" }, cause);
    }
  }

  /** Places where pods have the volume mounted. */
  async #users(name: string): Promise<readonly string[]> {
    const end = ["volumes", LOCAL_PLUGIN, name].join("/");
    const mounts = await this.#deps.volumes.mountsWithin(this.#pods);
    return mounts
      .map(({ path }) => path)
      .filter((path) => path.slice(this.#pods.length + 1).replace(/^[^/]+\//, "") === end);
  }

  async #unmountUnused(name: string): Promise<void> {
    if ((await this.#users(name)).length > 0) return;
    const { files, volumes } = this.#deps;
    const target = `${this.#mounts}/${name}`;
    await volumes.unmount(target);
    await files.remove(target);
  }

  async #unmap(name: string, podUid: string): Promise<void> {
    const { files, volumes } = this.#deps;
    const nodes = `${this.#nodes}/${name}`;
    await volumes.unmapDevice(`${nodes}/${podUid}`);
    const left = await files.list(nodes);
    if (left?.length === 0) await files.remove(nodes);
  }

  async #names(folder: string): Promise<readonly string[]> {
    return ((await this.#deps.files.list(folder)) ?? []).map(({ name }) => name);
  }
}

/** The API allows no such names; what is made of them must never lie elsewhere. */
function checkNames({ name, path }: LocalVolume): void {
  if (!isFileName(name)) throw wrong(`"${name}" is not a name of a volume`);
  if (path.split("/").includes("..")) throw wrong(`invalid path: ${path} must not contain '..'`);
  if (!path.startsWith("/")) throw wrong(`invalid path: ${path} must be absolute`);
}
