import { isOutside, OutsideError } from "../../../kit/errors.ts";
import {
  type NamedFile,
  type OpenFile,
  type OpenFolder,
  type OpenFolderBeneath,
  unzipChunks,
} from "../files/open-folder.ts";
import type { HandleWorker } from "./handle-worker.ts";
import type { OperationName } from "./operations.ts";
import type { WorkerProcess } from "./worker-process.ts";

/** Something held open in a worker. */
interface Held {
  readonly process: WorkerProcess;
  readonly handle: number;
}

/** Folders that are opened and read by a worker process. */
export function openFolderThrough(worker: HandleWorker): OpenFolderBeneath {
  return async (root, relativePath) => {
    const folder = new RemoteFolder(worker, root, relativePath);
    return (await folder.reopen()) ? folder : undefined;
  };
}

/** Opened again when its worker is replaced. */
class RemoteFolder implements OpenFolder {
  readonly path: string;
  readonly #worker: HandleWorker;
  readonly #where: readonly [root: string, relativePath: string];
  readonly #stops = new Set<() => void>();
  #held: Held | undefined;

  constructor(worker: HandleWorker, root: string, relativePath: string) {
    this.path = `${root}/${relativePath}`;
    this.#worker = worker;
    this.#where = [root, relativePath];
  }

  /** Opens it in the worker of now; `undefined` when there is no such folder. */
  async reopen(): Promise<Held | undefined> {
    const process = this.#worker.current();
    const handle = await this.#worker.call<number | undefined>(
      process,
      "folder.open",
      this.#where,
      this.path,
    );
    if (handle === undefined) return undefined;
    this.#worker.opened(process);
    this.#held = { process, handle };
    return this.#held;
  }

  /** Makes a request with the handle; once more where the worker was replaced meanwhile. */
  async call<T>(operation: OperationName, ...args: readonly unknown[]): Promise<T> {
    const held = await this.#holding();
    try {
      return await this.#worker.call<T>(held.process, operation, [held.handle, ...args], this.path);
    } catch (error) {
      if (!held.process.ended || isOutside(error, "deadline", "aborted")) throw error;
      const { process, handle } = await this.#holding();
      return await this.#worker.call<T>(process, operation, [handle, ...args], this.path);
    }
  }

  list(): Promise<readonly NamedFile[]> {
    return this.call("folder.list");
  }

  async open(name: string): Promise<OpenFile | undefined> {
    const file = new RemoteFile(this, this.#worker, name);
    return (await file.reopen()) ? file : undefined;
  }

  /** Opens a file in the worker that holds the folder. */
  async openFile(name: string): Promise<(Held & { readonly id: string }) | undefined> {
    const { process, handle } = await this.#holding();
    const opened = await this.#worker.call<{ handle: number; id: string } | undefined>(
      process,
      "folder.openFile",
      [handle, name],
      this.path,
    );
    if (!opened) return undefined;
    this.#worker.opened(process);
    return { process, ...opened };
  }

  watch(onChange: (change: "names" | "content") => void): () => void {
    const { process, handle } = this.#held ?? {};
    let stop = () => {};
    let stopped = false;
    const stopAll = () => {
      stopped = true;
      this.#stops.delete(stopAll);
      stop();
    };
    this.#stops.add(stopAll);
    if (!process) return stopAll;
    this.#worker.call<number>(process, "folder.watch", [handle], this.path).then(
      (watch) => {
        const forget = process.onChange(watch, onChange);
        stop = () => {
          forget();
          if (!process.ended)
            this.#worker.call(process, "folder.unwatch", [watch], this.path).catch(() => {});
        };
        if (stopped) stop();
      },
      // Callers that must not miss a change also poll.
      () => {},
    );
    return stopAll;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of [...this.#stops]) stop();
    const held = this.#held;
    this.#held = undefined;
    if (held) await this.#worker.release(held.process, held.handle, this.path);
  }

  async #holding(): Promise<Held> {
    if (this.#held && !this.#held.process.ended) return this.#held;
    const held = await this.reopen();
    if (!held) throw new OutsideError("notFound", `the folder ${this.path} is gone`);
    return held;
  }
}

/** Found again by its id, whatever it is called by then, when its worker is replaced. */
class RemoteFile implements OpenFile {
  readonly #folder: RemoteFolder;
  readonly #worker: HandleWorker;
  readonly #name: string;
  #held: (Held & { readonly id: string }) | undefined;

  constructor(folder: RemoteFolder, worker: HandleWorker, name: string) {
    this.#folder = folder;
    this.#worker = worker;
    this.#name = name;
  }

  async reopen(): Promise<Held | undefined> {
    const known = this.#held?.id;
    const name =
      known === undefined
        ? this.#name
        : (await this.#folder.list()).find(({ id }) => id === known)?.name;
    const opened = name === undefined ? undefined : await this.#folder.openFile(name);
    if (!opened || (known !== undefined && opened.id !== known)) return undefined;
    this.#held = opened;
    return opened;
  }

  get id(): string {
    return this.#held?.id ?? "";
  }

  sizeBytes(): Promise<number> {
    return this.#call("file.size");
  }

  read(offset: number, maxBytes: number): Promise<Uint8Array> {
    return this.#call("file.read", offset, maxBytes);
  }

  unzipped(): AsyncIterable<Uint8Array> {
    return unzipChunks((offset, maxBytes) => this.read(offset, maxBytes), this.#shown);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const held = this.#held;
    this.#held = undefined;
    if (held) await this.#worker.release(held.process, held.handle, this.#shown);
  }

  get #shown(): string {
    return `${this.#folder.path}/${this.#name}`;
  }

  async #call<T>(operation: OperationName, ...args: readonly unknown[]): Promise<T> {
    const held = await this.#holding();
    try {
      return await this.#worker.call<T>(
        held.process,
        operation,
        [held.handle, ...args],
        this.#shown,
      );
    } catch (error) {
      if (!held.process.ended || isOutside(error, "deadline", "aborted")) throw error;
      const { process, handle } = await this.#holding();
      return await this.#worker.call<T>(process, operation, [handle, ...args], this.#shown);
    }
  }

  async #holding(): Promise<Held> {
    if (this.#held && !this.#held.process.ended) return this.#held;
    const held = await this.reopen();
    if (!held) throw new OutsideError("notFound", `${this.#shown} is gone`);
    return held;
  }
}
