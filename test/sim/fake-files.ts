import type { WallMs } from "../../src/kit/clock.ts";
import type { OutsideError } from "../../src/kit/errors.ts";
import type {
  FileEntry,
  FileFacts,
  Files,
  FileTrees,
  FolderChange,
  FolderEvent,
  MeasuredTree,
  NewFolder,
} from "../../src/outside/host/host.ts";
import { changeIn, folderBeneath, sizedEntries, tailBeneath } from "./fake-beneath.ts";
import {
  type FileNode,
  type FolderNode,
  failure,
  holdsMount,
  type Node,
  normal,
  parentOf,
  resolved,
  sizeOf,
  TornAppend,
} from "./fake-file-nodes.ts";
import { FakeWatches } from "./fake-watches.ts";

/** What a fault callback may answer: this call fails with that error. */
export type Fault = (operation: string, path: string) => OutsideError | undefined;

export interface FakeFilesDeps {
  readonly wall: () => WallMs;
  readonly fault: Fault;
}

/** Where the last name of a path stands. */
interface Place {
  readonly parent: FolderNode;
  readonly parentPath: string;
  readonly name: string;
  readonly node: Node | undefined;
}

const LINK_LIMIT = 40;

/** Files in memory, as deterministic as its caller: changes are reported in microtasks and nothing waits. */
export class FakeFiles implements Files, FileTrees {
  readonly #deps: FakeFilesDeps;
  readonly #root: FolderNode;
  readonly #watches: FakeWatches;
  readonly #versions = new WeakMap<Node, number>();
  #versionCount = 0;

  constructor(deps: FakeFilesDeps) {
    this.#deps = deps;
    this.#root = this.#folder(0o755);
    this.#watches = new FakeWatches({
      isThere: (path) => this.#follow(path).node !== undefined,
      make: (path) => this.#makeDirectory(path, 0o750),
    });
  }

  /** Every path there is, folders before what they hold. */
  get paths(): readonly string[] {
    const walk = (folder: FolderNode, path: string): string[] =>
      [...folder.entries].flatMap(([name, node]) => {
        const below = `${path}/${name}`;
        return node.kind === "directory" ? [below, ...walk(node, below)] : [below];
      });
    return walk(this.#root, "");
  }

  /** Puts a socket there, as a plugin would by listening. */
  addSocket(path: string): void {
    this.#put(path, { ...this.#file("", 0o755), kind: "socket" });
  }

  /** Gives a folder to a group. */
  setGroup(path: string, groupId: number): void {
    const { node } = this.#follow(path);
    if (node?.kind === "directory") node.group.id = groupId;
  }

  /** Puts a block device there. */
  addDevice(path: string, number: string): void {
    this.#put(path, { ...this.#file("", 0o600), kind: "other", device: number });
  }

  /** Number of the block device a path leads to. */
  deviceAt(path: string): string | undefined {
    const { node } = this.#follow(path);
    return node?.kind === "other" ? node.device : undefined;
  }

  /** Whether a socket stands there. */
  hasSocket(path: string): boolean {
    return this.#find(path).node?.kind === "socket";
  }

  /** Makes an existing folder a mount point. */
  addMount(path: string): void {
    const { node } = this.#find(path);
    if (node?.kind !== "directory") throw failure("notFound", "mount", path);
    node.isMount = true;
  }

  removeMount(path: string): void {
    const { node } = this.#find(path);
    if (node?.kind === "directory") node.isMount = false;
  }

  /** Mounts what `source` holds, or an empty file system, at a folder or file. */
  share(source: string | undefined, target: string): void {
    const from = source === undefined ? this.#folder(0o1777) : this.#follow(source).node;
    const { node } = this.#find(target);
    const fits = from && node && (from.kind === "directory") === (node.kind === "directory");
    if (!fits) throw failure("notFound", "mount", target);
    this.#put(target, from.kind === "directory" ? { ...from, isMount: true } : from);
  }

  /** Takes a mount away again; what it covered counts as empty. */
  unshare(target: string): void {
    const { node } = this.#find(target);
    if (node)
      this.#put(target, node.kind === "directory" ? this.#folder(0o750) : this.#file("", 0));
  }

  /** What a link says. */
  targetOf(path: string): string | undefined {
    const { node } = this.#find(path);
    return node?.kind === "link" ? node.target : undefined;
  }

  async readText(path: string, { maxBytes }: { readonly maxBytes: number }) {
    const content = this.#begin("readText", path, () => this.#contentOf(path));
    if (content === undefined) return undefined;
    if (content.length > maxBytes) throw failure("exhausted", "read", path);
    return content.toString("utf8");
  }

  async readTail(root: string, relativePath: string, maxBytes: number) {
    return this.#begin("readTail", normal(`${root}/${relativePath}`), () =>
      tailBeneath(this.#follow(root).node, relativePath, maxBytes),
    );
  }

  async writeAtomic(path: string, content: string | Uint8Array, mode: number) {
    this.#begin("writeAtomic", path, () => {
      if (this.#find(path).node?.kind === "directory") throw failure("precondition", "write", path);
      this.#put(path, this.#file(content, mode), true);
    });
  }

  async append(path: string, text: string, mode: number) {
    try {
      this.#begin(text === "" ? "appendNothing" : "append", path, () =>
        this.#append(path, text, mode),
      );
    } catch (error) {
      if (error instanceof TornAppend) this.#append(path, text.slice(0, text.length / 2), mode);
      throw error;
    }
  }

  async makeDirectory(path: string, mode: number) {
    const isThere = this.#follow(path).node?.kind === "directory";
    // As mkdir(2), which checks first: neither a full disk nor a read-only one keeps what is there from being there.
    const operation = isThere ? "findDirectory" : "makeDirectory";
    this.#begin(operation, path, () => this.#makeDirectory(path, mode));
  }

  async makeDirectories(folders: readonly NewFolder[]) {
    const missing: boolean[] = [];
    for (const { path, mode } of folders) {
      missing.push(this.#follow(path).node === undefined);
      await this.makeDirectory(path, mode);
    }
    return missing;
  }

  async list(path: string): Promise<readonly FileEntry[] | undefined> {
    return this.#begin("list", path, () => {
      const { node } = this.#follow(path);
      if (node?.kind !== "directory") return undefined;
      return sizedEntries(node)?.map(({ name, kind }) => ({ name, kind }));
    });
  }

  async facts(
    path: string,
    options?: { readonly follow?: boolean },
  ): Promise<FileFacts | undefined> {
    return this.#begin("facts", path, () => {
      const node = options?.follow ? this.#follow(path).node : this.#find(path).node;
      if (node === undefined) return undefined;
      const sizeBytes = "content" in node ? node.content.length : 0;
      const device = "device" in node ? { device: "block" as const } : {};
      const { kind, modifiedMs, mode } = node;
      const version = String(this.#versions.get(node) ?? this.#changedNode(node));
      const groupId = node.kind === "directory" ? node.group.id : 0;
      return { kind, sizeBytes, modifiedMs, version, mode, groupId, ...device };
    });
  }

  async factsOfAll(paths: readonly string[], options?: { readonly follow?: boolean }) {
    const all: (FileFacts | undefined)[] = [];
    for (const path of paths) all.push(await this.facts(path, options));
    return all;
  }

  async remove(path: string) {
    this.#begin("remove", path, () => {
      const { node } = this.#find(path);
      if (node?.kind === "directory" && (node.entries.size > 0 || node.isMount)) {
        throw failure("precondition", "remove", path);
      }
      this.#take(path);
    });
  }

  async measureTrees(
    paths: readonly string[],
    { maxEntries }: { readonly maxEntries: number },
  ): Promise<readonly MeasuredTree[]> {
    return paths.map((path): MeasuredTree => {
      try {
        return this.#begin("measureTree", path, () => {
          const { node } = this.#find(path);
          if (node?.kind !== "directory" && node?.kind !== "file") return { kind: "missing" };
          return { kind: "measured", size: sizeOf(node, maxEntries) };
        });
      } catch (error) {
        return { kind: "failed", message: String(error) };
      }
    });
  }

  async removeTree(path: string) {
    this.#begin("removeTree", path, () => {
      const { node } = this.#find(path);
      if (node && holdsMount(node)) throw failure("precondition", "remove", path);
      this.#take(path);
    });
  }

  async link(target: string, path: string, options?: { readonly ifTargetExists?: boolean }) {
    this.#begin("link", path, () => {
      if (options?.ifTargetExists && !this.#find(target).node) return;
      if (this.#find(path).node?.kind === "directory") throw failure("precondition", "link", path);
      this.#put(path, { kind: "link", target, mode: 0o777, modifiedMs: this.#deps.wall() });
    });
  }

  async listBeneath(root: string, relativePath: string) {
    return this.#begin("listBeneath", root, () =>
      sizedEntries(folderBeneath(this.#follow(root).node, relativePath)),
    );
  }

  async changeBeneath(root: string, relativePath: string, changes: readonly FolderChange[]) {
    const folder = folderBeneath(this.#follow(root).node, relativePath);
    if (!folder) throw failure("notFound", "change", root);
    await changeIn(this, { folder, path: normal(`${root}/${relativePath}`) }, changes);
  }

  async rename(from: string, to: string) {
    this.#begin("rename", from, () => {
      const [{ node }, { node: replaced }] = [this.#find(from), this.#find(to)];
      if (node === undefined) throw failure("notFound", "rename", from);
      if (replaced === node) return;
      const isFull = replaced?.kind === "directory" && replaced.entries.size > 0;
      if (isFull || (replaced && (replaced.kind === "directory") !== (node.kind === "directory"))) {
        throw failure("precondition", "rename", from);
      }
      this.#take(from);
      this.#put(to, node);
    });
  }

  watchDirectory(
    path: string,
    onChange: (events: readonly FolderEvent[]) => void,
    signal: AbortSignal,
  ): void {
    this.#watches.watch(path, onChange, signal);
  }

  #begin<T>(operation: string, path: string, work: () => T): T {
    const fault = this.#deps.fault(operation, path);
    if (fault) throw fault;
    if (!path.startsWith("/")) throw failure("invalid", operation, path);
    return work();
  }

  #folder(mode: number): FolderNode {
    const modifiedMs = this.#deps.wall();
    const group = { id: 0 };
    return { kind: "directory", entries: new Map(), mode, modifiedMs, isMount: false, group };
  }

  #file(content: string | Uint8Array, mode: number): FileNode {
    return { kind: "file", content: Buffer.from(content), mode, modifiedMs: this.#deps.wall() };
  }

  #contentOf(path: string): Buffer | undefined {
    const { node } = this.#follow(path);
    if (node === undefined) return undefined;
    if (node.kind !== "file") throw failure("invalid", "read", path);
    return node.content;
  }

  /** The place of a path's last name, links on the way followed; missing folders give `undefined`. */
  #find(path: string, links = 0): { node: Node | undefined; place: Place | undefined } {
    const parts = normal(path).split("/").slice(1);
    let parent: FolderNode = this.#root;
    let parentPath = "";
    if (parts[0] === "") return { node: this.#root, place: undefined };
    for (const [index, name] of parts.entries()) {
      const node = parent.entries.get(name);
      if (index === parts.length - 1) {
        return { node, place: { parent, parentPath, name, node } };
      }
      if (node?.kind === "link") {
        if (links >= LINK_LIMIT) throw failure("invalid", "follow", path);
        const rest = parts.slice(index + 1).join("/");
        return this.#find(`${resolved(node.target, parentPath)}/${rest}`, links + 1);
      }
      if (node?.kind !== "directory") return { node: undefined, place: undefined };
      parent = node;
      parentPath = `${parentPath}/${name}`;
    }
    return { node: undefined, place: undefined };
  }

  /** As `#find`, and through a link at the end too; `place` is the path where it ended. */
  #follow(path: string): { node: Node | undefined; place: string } {
    let current = path;
    for (let links = 0; links <= LINK_LIMIT; links += 1) {
      const { node, place } = this.#find(current);
      if (node?.kind !== "link") return { node, place: current };
      current = resolved(node.target, place?.parentPath ?? "");
    }
    throw failure("invalid", "follow", path);
  }

  #append(path: string, text: string, mode: number): void {
    const { node, place } = this.#follow(path);
    if (node === undefined) this.#put(place, this.#file(text, mode));
    else if (node.kind !== "file") throw failure("precondition", "append to", path);
    else {
      node.content = Buffer.concat([node.content, Buffer.from(text)]);
      node.modifiedMs = this.#deps.wall();
      this.#changedNode(node);
      this.#watches.changed(parentOf(place), [
        { kind: "content", name: place.slice(place.lastIndexOf("/") + 1) },
      ]);
    }
  }

  #makeDirectory(path: string, mode: number): void {
    const parts = normal(path).split("/").slice(1);
    for (const index of parts.keys()) {
      const current = `/${parts.slice(0, index + 1).join("/")}`;
      const { node } = this.#follow(current);
      if (node === undefined) this.#put(current, this.#folder(mode));
      else if (node.kind !== "directory") {
        const isLast = index === parts.length - 1;
        throw failure(isLast ? "alreadyExists" : "notFound", "make folder", path);
      }
    }
    const { node } = this.#follow(path);
    if (node?.kind === "directory") node.mode = mode;
  }

  #changedNode(node: Node): number {
    this.#versionCount += 1;
    this.#versions.set(node, this.#versionCount);
    return this.#versionCount;
  }

  /** `byRename`: from a temporary file beside it. */
  #put(path: string, node: Node, byRename = false): void {
    const { place } = this.#find(path);
    if (place === undefined) throw failure("notFound", "write", path);
    place.parent.entries.set(place.name, node);
    place.parent.modifiedMs = this.#deps.wall();
    const temporary = byRename ? [{ kind: "entry", name: `.${place.name}.tmp` } as const] : [];
    this.#watches.changed(place.parentPath, [...temporary, { kind: "entry", name: place.name }]);
  }

  #take(path: string): void {
    const { place } = this.#find(path);
    if (!place?.parent.entries.delete(place.name)) return;
    this.#watches.changed(place.parentPath, [{ kind: "entry", name: place.name }]);
  }
}
