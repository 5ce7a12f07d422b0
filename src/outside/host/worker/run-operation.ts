import { OutsideError } from "../../../kit/errors.ts";
import { NEVER_ABORTED } from "../../../kit/within.ts";
import type { OpenFile, OpenFolder, OpenFolderBeneath } from "../files/open-folder.ts";
import type { DiskUsage, PodFiles } from "../host.ts";
import type { VolumeFiles } from "../volume-files.ts";

interface OperationDeps {
  readonly files: PodFiles;
  readonly volumes: VolumeFiles;
  readonly diskUsage: (path: string) => Promise<DiskUsage | undefined>;
  readonly openFolder: OpenFolderBeneath;
  readonly onChange: (watch: number, change: "names" | "content") => void;
  /** Gives back the worker's memory that is not in use. */
  readonly releaseMemory: () => void;
}

/** Runs an operation by its name. The agent is the only one who asks, so arguments are as typed there. */
type RunOperation = (operation: string, args: readonly unknown[]) => Promise<unknown>;

type AnyMethod = (...args: readonly unknown[]) => Promise<unknown>;

/** All operations of a worker, with the folders and files it holds open. */
export function createOperations(deps: OperationDeps): RunOperation {
  const held = new HeldHandles(deps);
  const tables: Readonly<Record<string, object>> = {
    files: { ...deps.files, measureTrees: measureWith(deps.files) },
    volumes: deps.volumes,
    disk: { usage: deps.diskUsage },
    memory: { release: async () => deps.releaseMemory() },
    ...held.tables(),
  };
  return async (operation, args) => {
    const [table = "", name = ""] = operation.split(".");
    const method = (tables[table] as Record<string, AnyMethod> | undefined)?.[name];
    if (!method) throw new OutsideError("unimplemented", `no file operation ${operation}`);
    return await method(...args);
  };
}

/** A worker does not cancel: the caller discards an answer that is no longer needed. */
function measureWith(
  files: PodFiles,
): (paths: readonly string[], limits: { maxEntries: number }) => unknown {
  return (paths, limits) => files.measureTrees(paths, limits, NEVER_ABORTED);
}

/** Folders and files that are held open for readers of logs, by number. */
class HeldHandles {
  readonly #deps: OperationDeps;
  readonly #folders = new Map<number, OpenFolder>();
  readonly #files = new Map<number, OpenFile>();
  readonly #watches = new Map<number, () => void>();
  #last = 0;

  constructor(deps: OperationDeps) {
    this.#deps = deps;
  }

  tables(): Readonly<Record<string, object>> {
    return {
      folder: {
        open: (root: string, path: string) => this.#openFolder(root, path),
        list: async (handle: number) => this.#folder(handle).list(),
        openFile: (handle: number, name: string) => this.#openFile(handle, name),
        watch: async (handle: number) => this.#watch(handle),
        unwatch: async (watch: number) => this.#unwatch(watch),
      },
      file: {
        size: async (handle: number) => this.#file(handle).sizeBytes(),
        read: async (handle: number, offset: number, maxBytes: number) =>
          this.#file(handle).read(offset, maxBytes),
      },
      handle: { close: (handle: number) => this.#close(handle) },
    };
  }

  async #openFolder(root: string, path: string): Promise<number | undefined> {
    const folder = await this.#deps.openFolder(root, path);
    if (!folder) return undefined;
    this.#last += 1;
    this.#folders.set(this.#last, folder);
    return this.#last;
  }

  async #openFile(
    handle: number,
    name: string,
  ): Promise<{ readonly handle: number; readonly id: string } | undefined> {
    const file = await this.#folder(handle).open(name);
    if (!file) return undefined;
    this.#last += 1;
    this.#files.set(this.#last, file);
    return { handle: this.#last, id: file.id };
  }

  #watch(handle: number): number {
    this.#last += 1;
    const watch = this.#last;
    const stop = this.#folder(handle).watch((change) => this.#deps.onChange(watch, change));
    this.#watches.set(watch, stop);
    return watch;
  }

  #unwatch(watch: number): void {
    this.#watches.get(watch)?.();
    this.#watches.delete(watch);
  }

  async #close(handle: number): Promise<void> {
    const held = this.#folders.get(handle) ?? this.#files.get(handle);
    this.#folders.delete(handle);
    this.#files.delete(handle);
    await held?.[Symbol.asyncDispose]();
  }

  #folder(handle: number): OpenFolder {
    return found(this.#folders.get(handle), handle);
  }

  #file(handle: number): OpenFile {
    return found(this.#files.get(handle), handle);
  }
}

function found<T>(held: T | undefined, handle: number): T {
  if (held === undefined) throw new OutsideError("notFound", `handle ${handle} is not open`);
  return held;
}
