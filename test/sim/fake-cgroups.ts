import { OutsideError } from "../../src/kit/errors.ts";
import type { CgroupTree, CgroupVersion } from "../../src/outside/host/host.ts";
import { defaultFiles, normalWrite } from "./fake-cgroup-files.ts";
import type { Fault } from "./fake-files.ts";

export interface FakeCgroupsOptions {
  readonly version: CgroupVersion;
  readonly controllers: readonly string[];
  readonly fault: Fault;
  /** Called for every process that `destroy` ends. */
  readonly onKill?: (pid: number) => void;
}

interface Group {
  readonly files: Map<string, string>;
  readonly pids: Set<number>;
}

/**
 * Cgroups in memory, with the kernel's defaults, spellings and refusals as far as the agent
 * meets them. Nothing waits: what the kernel would have to be asked again for fails at once.
 */
export class FakeCgroups implements CgroupTree {
  readonly version: CgroupVersion;
  readonly controllers: ReadonlySet<string>;
  readonly #options: FakeCgroupsOptions;
  readonly #groups = new Map<string, Group>();
  /** Processes that no signal ends, as in uninterruptible sleep. */
  readonly unkillable = new Set<number>();
  /** Groups that something has frozen. */
  readonly frozen = new Set<string>();

  constructor(options: FakeCgroupsOptions) {
    this.#options = options;
    this.version = options.version;
    this.controllers = new Set(options.controllers);
    this.#groups.set("/", this.#newGroup(true));
  }

  /** Paths of all groups, sorted. */
  get paths(): readonly string[] {
    return [...this.#groups.keys()].sort();
  }

  /** Whether there is a group. */
  has(path: string): boolean {
    return this.#groups.has(path);
  }

  /** Puts a process into a group, out of any other. */
  addProcess(path: string, pid: number): void {
    const group = this.#groups.get(path);
    if (group === undefined) throw missing("move a process to", path);
    for (const other of this.#groups.values()) other.pids.delete(pid);
    group.pids.add(pid);
  }

  /** A process has ended by itself. */
  removeProcess(pid: number): void {
    for (const group of this.#groups.values()) group.pids.delete(pid);
  }

  /** Sets what the kernel counts, e.g. `memory.current`, or makes a group `threaded`. */
  set(path: string, file: string, value: string): void {
    const group = this.#groups.get(path);
    if (group === undefined) throw missing("set", path);
    group.files.set(file, value);
  }

  /** Takes a file away that the kernel may not have. */
  hide(path: string, file: string): void {
    this.#groups.get(path)?.files.delete(file);
  }

  async exists(path: string): Promise<boolean> {
    this.#begin("exists", path);
    return this.#groups.has(path);
  }

  async create(path: string): Promise<void> {
    this.#begin("create", path);
    let current = "";
    for (const part of path.split("/").slice(1)) {
      current = `${current}/${part}`;
      if (!this.#groups.has(current)) this.#groups.set(current, this.#newGroup(false));
      const type = this.#groups.get(current)?.files.get("cgroup.type") ?? "domain";
      if (type !== "domain") {
        throw new OutsideError(
          "precondition",
          `create cgroup ${path}: ${current}/cgroup.type is ${type}`,
        );
      }
    }
  }

  async read(path: string, file: string): Promise<string | undefined> {
    this.#begin("read", path, file);
    const group = this.#groups.get(path);
    if (group && file === "cgroup.procs") return [...group.pids].sort((a, b) => a - b).join("\n");
    return group?.files.get(file);
  }

  readNow(path: string, files: readonly string[]): readonly (string | undefined)[] {
    const group = this.#groups.get(path);
    return files.map((file) =>
      group && file === "cgroup.procs" ? [...group.pids].join("\n") : group?.files.get(file),
    );
  }

  async write(path: string, file: string, value: string): Promise<void> {
    this.#begin("write", path, file);
    const group = this.#groups.get(path);
    if (group === undefined) throw missing(`write ${file} of`, path);
    if (file === "cgroup.procs") {
      this.addProcess(path, Number(value));
      return;
    }
    if (!group.files.has(file)) throw missing(`write ${file} of`, path);
    const fault = normalWrite(this.version, group.files, { file, value });
    if (fault !== undefined) {
      throw new OutsideError(fault, `write "${value}" to ${file} of cgroup ${path}: ${fault}`, {
        retryable: fault === "precondition",
      });
    }
  }

  async children(path: string): Promise<readonly string[]> {
    this.#begin("children", path);
    const prefix = path === "/" ? "/" : `${path}/`;
    return this.paths
      .filter((other) => other !== "/" && other.startsWith(prefix))
      .map((other) => other.slice(prefix.length))
      .filter((rest) => !rest.includes("/"));
  }

  async members(path: string): Promise<readonly number[]> {
    this.#begin("members", path);
    return [...(this.#groups.get(path)?.pids ?? [])].sort((a, b) => a - b);
  }

  async processes(path: string): Promise<readonly number[]> {
    this.#begin("processes", path);
    return this.#beneath(path)
      .flatMap((group) => [...(this.#groups.get(group)?.pids ?? [])])
      .sort((a, b) => a - b);
  }

  async thaw(path: string): Promise<void> {
    this.#begin("thaw", path);
    for (const group of this.#beneath(path)) this.frozen.delete(group);
  }

  async destroy(path: string): Promise<void> {
    this.#begin("destroy", path);
    if (path === "/") throw new OutsideError("invalid", "destroy cgroup /: the root stays");
    const groups = this.#beneath(path);
    for (const group of groups) this.#kill(group);
    for (const group of groups.toReversed()) {
      const isBusy = [...this.#groups.keys()].some((other) => other.startsWith(`${group}/`));
      if (!isBusy && this.#groups.get(group)?.pids.size === 0) this.#groups.delete(group);
    }
    if (this.#groups.has(path)) {
      throw new OutsideError("precondition", `remove cgroup ${path}: EBUSY`, { retryable: true });
    }
  }

  #kill(path: string): void {
    const pids = this.#groups.get(path)?.pids ?? new Set<number>();
    for (const pid of [...pids]) {
      if (this.unkillable.has(pid)) continue;
      pids.delete(pid);
      this.#options.onKill?.(pid);
    }
  }

  #beneath(path: string): readonly string[] {
    const prefix = path === "/" ? "/" : `${path}/`;
    return this.paths.filter((other) => other === path || other.startsWith(prefix));
  }

  #newGroup(isRoot: boolean): Group {
    return { files: defaultFiles(this.version, this.controllers, isRoot), pids: new Set() };
  }

  #begin(operation: string, path: string, file?: string): void {
    const shown = file === undefined ? path : `${path}/${file}`;
    const fault = this.#options.fault(`cgroup.${operation}`, shown);
    if (fault) throw fault;
    const parts = path.split("/");
    const odd = parts.slice(1).some((part) => part === "" || part === "." || part === "..");
    if (path !== "/" && (parts[0] !== "" || odd)) {
      throw new OutsideError("invalid", `"${path}" is not an absolute path of a cgroup`);
    }
    if (file !== undefined && !/^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*$/.test(file)) {
      throw new OutsideError("invalid", `cgroup ${path}: "${file}" is not a control file`);
    }
  }
}

function missing(action: string, path: string): OutsideError {
  return new OutsideError("notFound", `${action} cgroup ${path}: no such group or file`);
}
