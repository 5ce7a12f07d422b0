import { OutsideError } from "../../src/kit/errors.ts";
import type {
  BindMount,
  DeviceMount,
  GroupOwnership,
  MappedDevice,
  MountPoint,
  OverwrittenFile,
  PayloadFile,
  ServerMount,
  VolumeFiles,
} from "../../src/outside/host/host.ts";
import type { FakeFiles, Fault } from "./fake-files.ts";

const STAMPED = /^\.\.\d{4}_/;
const LINK_LIMIT = 40;

/** Volumes in memory: mounts are marks on folders, a bound folder shares what it holds. */
export class FakeVolumeFiles implements VolumeFiles {
  readonly #files: FakeFiles;
  readonly #fault: Fault;
  readonly #mounts: MountPoint[] = [];
  /** Folders that were given to a group, once for each time. */
  readonly given: string[] = [];
  /** Folders whose files were given or read, once for each time. */
  readonly payloads: string[] = [];
  /** File systems of block devices, by number. */
  readonly #formats = new Map<string, string>();
  /** Places where a device is held. */
  readonly #held = new Set<string>();
  #stamps = 0;

  constructor(files: FakeFiles, fault: Fault) {
    this.#files = files;
    this.#fault = fault;
  }

  /** Paths of all mounts. */
  get mounted(): readonly string[] {
    return this.#mounts.map(({ path }) => path);
  }

  async mountsWithin(path: string): Promise<readonly MountPoint[]> {
    return this.#mounts.filter((mount) => mount.path === path || mount.path.startsWith(`${path}/`));
  }

  async mountMemory(path: string, { sizeBytes }: { readonly sizeBytes?: number }) {
    const options = sizeBytes === undefined ? [] : [`size=${sizeBytes / 1024}k`];
    this.#mount({ path, fsType: "tmpfs", source: "tmpfs", readOnly: false, options });
  }

  async mountHugePages(
    path: string,
    { pageBytes }: { readonly pageBytes: number; readonly sizeBytes: number },
  ) {
    const options = [`pagesize=${pageBytes / 1024}K`];
    this.#mount({ path, fsType: "hugetlbfs", source: "nodev", readOnly: false, options });
  }

  async bind(source: string, target: string, options: readonly string[] = []) {
    this.#check("bind", target);
    this.#files.share(source, target);
    const readOnly = options.includes("ro");
    this.#mounts.push({ path: target, fsType: "fake", source, readOnly, options });
  }

  /** There is one mount namespace only. */
  async makeShared(path: string): Promise<boolean> {
    this.#check("makeShared", path);
    return false;
  }

  /** Places where devices are held. */
  get held(): readonly string[] {
    return [...this.#held];
  }

  async mountDevice({ source, target, fsType, options }: DeviceMount) {
    const number = this.#deviceOf(source);
    const present = this.#mounts.findLast(({ path }) => path === target);
    if (present?.source === number) return;
    if (present) throw new OutsideError("precondition", `${target} shows another device`);
    const readOnly = options.includes("ro");
    const format = this.#formats.get(number);
    if (format === undefined && readOnly)
      throw new OutsideError("precondition", `cannot mount unformatted disk ${source}`);
    if (format !== undefined && format !== fsType)
      throw new OutsideError("invalid", `mount failed: ${source} is no ${fsType}`);
    this.#formats.set(number, fsType);
    const content = `/.devices/${number}`;
    if (format === undefined) await this.#files.makeDirectory(content, 0o755);
    this.#check("mount", target);
    this.#files.share(content, target);
    this.#mounts.push({ path: target, fsType, source: number, readOnly, options });
  }

  async mountServer({ source, target, fsType, options }: ServerMount) {
    const readOnly = options.includes("ro");
    this.#mount({ path: target, fsType, source, readOnly, options });
  }

  async mapDevice(source: string, target: string): Promise<MappedDevice> {
    if (this.#held.has(target)) return { number: this.#files.deviceAt(target) ?? "", isNew: false };
    const number = this.#deviceOf(source);
    this.#check("mapDevice", target);
    await this.unmapDevice(target);
    await this.#files.makeDirectory(target.slice(0, target.lastIndexOf("/")), 0o750);
    this.#files.addDevice(target, number);
    this.#mounts.push({ path: target, fsType: "fake", source, readOnly: false, options: [] });
    this.#held.add(target);
    return { number, isNew: true };
  }

  async unmapDevice(target: string) {
    this.#check("unmapDevice", target);
    this.#held.delete(target);
    const index = this.#mounts.findLastIndex(({ path }) => path === target);
    if (index >= 0) this.#mounts.splice(index, 1);
    await this.#files.remove(target);
  }

  #deviceOf(path: string): string {
    const number = this.#files.deviceAt(path);
    if (number !== undefined) return number;
    throw new OutsideError("precondition", `${path} is not a block device`);
  }

  async bindBeneath({ root, relativePath, target, createMode }: BindMount) {
    const source = await this.#resolve(root, relativePath, createMode);
    while (this.mounted.includes(target)) await this.unmount(target);
    const { kind } = (await this.#files.facts(source)) ?? { kind: "file" };
    await this.#files.makeDirectory(target.slice(0, target.lastIndexOf("/")), 0o750);
    await this.#files.remove(target);
    if (kind === "directory") await this.#files.makeDirectory(target, 0o750);
    else await this.#files.writeAtomic(target, "", 0o640);
    await this.bind(source, target);
  }

  async unmount(path: string) {
    this.#check("unmount", path);
    const index = this.#mounts.findLastIndex((mount) => mount.path === path);
    if (index < 0) return;
    this.#mounts.splice(index, 1);
    if (!this.mounted.includes(path)) this.#files.unshare(path);
  }

  async writePayload(folder: string, files: readonly PayloadFile[]): Promise<boolean> {
    this.#check("writePayload", folder);
    this.payloads.push(folder);
    const key = JSON.stringify(files.map((file) => [file.path, file.mode, [...file.content]]));
    const data = `${folder}/..data`;
    if ((await this.#files.readText(`${data}/..key`, { maxBytes: 1 << 24 })) === key) return false;
    this.#stamps += 1;
    const stamped = `..2026_01_01_00_00_00.${this.#stamps}`;
    await this.#files.makeDirectory(`${folder}/${stamped}`, 0o755);
    await this.#files.writeAtomic(`${folder}/${stamped}/..key`, key, 0o600);
    const names = new Set<string>();
    for (const { path, content, mode } of files) {
      if (path.split("/").includes("..")) throw new OutsideError("invalid", path);
      const file = `${folder}/${stamped}/${path}`;
      await this.#files.makeDirectory(file.slice(0, file.lastIndexOf("/")), 0o755);
      await this.#files.writeAtomic(file, content, mode);
      names.add(path.split("/")[0] ?? "");
    }
    await this.#files.link(stamped, data);
    for (const name of names) await this.#files.link(`..data/${name}`, `${folder}/${name}`);
    for (const { name, kind } of (await this.#files.list(folder)) ?? []) {
      const stale = kind === "link" && name !== "..data" && !names.has(name);
      if (stale || (STAMPED.test(name) && name !== stamped))
        await this.#files.removeTree(`${folder}/${name}`);
    }
    return true;
  }

  /** Only the topmost folder keeps its group. */
  async giveToGroup(folder: string, { groupId }: GroupOwnership) {
    this.#check("giveToGroup", folder);
    if (!(await this.#files.facts(folder))) throw new OutsideError("notFound", folder);
    this.given.push(folder);
    this.#files.setGroup(folder, groupId);
  }

  async readBeneath(root: string, relativePath: string, maxBytes: number) {
    try {
      const path = await this.#resolve(root, relativePath);
      return await this.#files.readText(path, { maxBytes });
    } catch (error) {
      if (error instanceof OutsideError && error.code === "notFound") return undefined;
      throw error;
    }
  }

  async overwrite(files: readonly OverwrittenFile[]) {
    for (const { path, text, mode, folderMode } of files) {
      const folder = path.slice(0, path.lastIndexOf("/"));
      if (folderMode !== undefined && !(await this.#files.facts(folder)))
        await this.#files.makeDirectory(folder, folderMode);
      await this.#files.writeAtomic(path, text, mode);
    }
  }

  async #resolve(root: string, relativePath: string, createMode?: number): Promise<string> {
    const ahead = relativePath.split("/").filter((part) => part !== "" && part !== ".");
    const at: string[] = [];
    for (let links = 0; ; ) {
      const name = ahead.shift();
      if (name === undefined) return [root, ...at].join("/");
      if (name === "..") {
        if (at.pop() === undefined) throw leaves(root, relativePath);
        continue;
      }
      const path = [root, ...at, name].join("/");
      const facts = await this.#files.facts(path);
      if (facts?.kind === "link") {
        links += 1;
        const target = this.#files.targetOf(path) ?? "";
        const back = target === root || target.startsWith(`${root}/`);
        if (links > LINK_LIMIT || (target.startsWith("/") && !back))
          throw leaves(root, relativePath);
        if (back) at.length = 0;
        ahead.unshift(...(back ? target.slice(root.length) : target).split("/").filter(Boolean));
        continue;
      }
      if (facts === undefined) {
        if (createMode === undefined) throw new OutsideError("notFound", path);
        await this.#files.makeDirectory(path, createMode);
      } else if (facts.kind !== "directory" && ahead.length > 0)
        throw new OutsideError("precondition", path);
      at.push(name);
    }
  }

  #mount(mount: MountPoint): void {
    this.#check("mount", mount.path);
    this.#files.share(undefined, mount.path);
    this.#mounts.push(mount);
  }

  #check(operation: string, path: string): void {
    const fault = this.#fault(operation, path);
    if (fault) throw fault;
  }
}

function leaves(root: string, relativePath: string): OutsideError {
  return new OutsideError("invalid", `${root}/${relativePath} does not stay beneath its volume`);
}
