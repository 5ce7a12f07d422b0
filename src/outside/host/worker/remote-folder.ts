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

/** Opens something in the worker of now; `undefined` when it is not there any more. */
type Open<H extends Held> = () => Promise<H | undefined>;

/** A handle in a worker that is opened again, once for all who need it, when the worker was replaced. */
class RemoteHandle<H extends Held> {
  readonly path: string;
  readonly #worker: HandleWorker;
  readonly #open: Open<H>;
  readonly #accepts: (opened: H) => boolean;
  #held: H | undefined;
  #opening: Promise<H | undefined> | undefined;
  #closed = false;

  /** Files that `accepts` refuses are closed again and count as absent. */
  constructor(
    path: string,
    worker: HandleWorker,
    open: Open<H>,
    accepts: (opened: H) => boolean = () => true,
  ) {
    this.path = path;
    this.#worker = worker;
    this.#open = open;
    this.#accepts = accepts;
  }

  /** As it was last opened. */
  get held(): H | undefined {
    return this.#held;
  }

  /** Opens it in the worker of now; `undefined` when it is not there. */
  reopen(): Promise<H | undefined> {
    this.#opening ??= this.#reopen().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #reopen(): Promise<H | undefined> {
    const opened = await this.#open();
    if (!opened) return undefined;
    this.#worker.opened(opened.process);
    if (this.#closed || !this.#accepts(opened)) {
      await this.#worker.release(opened.process, opened.handle, this.path);
      return undefined;
    }
    this.#held = opened;
    return opened;
  }

  /** The handle, open in a worker that runs. Throws `OutsideError` when it is gone. */
  async holding(): Promise<H> {
    if (this.#held && !this.#held.process.ended) return this.#held;
    const held = await this.reopen();
    if (!held) throw new OutsideError("notFound", `${this.path} is gone`);
    return held;
  }

  /** Makes a request with the handle; once more where the worker was replaced meanwhile. */
  async call<T>(operation: OperationName, ...args: readonly unknown[]): Promise<T> {
    const held = await this.holding();
    try {
      return await this.#worker.call<T>(held.process, operation, [held.handle, ...args], this.path);
    } catch (error) {
      if (!held.process.ended || isOutside(error, "deadline", "aborted")) throw error;
      const { process, handle } = await this.holding();
      return await this.#worker.call<T>(process, operation, [handle, ...args], this.path);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    const held = this.#held;
    this.#held = undefined;
    if (held) await this.#worker.release(held.process, held.handle, this.path);
  }
}

/** Folders that are opened and read by a worker process. */
export function openFolderThrough(worker: HandleWorker): OpenFolderBeneath {
  return async (root, relativePath) => {
    const folder = new RemoteFolder(worker, root, relativePath);
    return (await folder.reopen()) ? folder : undefined;
  };
}

class RemoteFolder implements OpenFolder {
  readonly path: string;
  readonly #worker: HandleWorker;
  readonly #handle: RemoteHandle<Held>;
  readonly #stops = new Set<() => void>();

  constructor(worker: HandleWorker, root: string, relativePath: string) {
    this.path = `${root}/${relativePath}`;
    this.#worker = worker;
    this.#handle = new RemoteHandle(this.path, worker, async () => {
      const process = worker.current();
      const handle = await worker.call<number | undefined>(
        process,
        "folder.open",
        [root, relativePath],
        this.path,
      );
      return handle === undefined ? undefined : { process, handle };
    });
  }

  /** Opens it in the worker of now; `undefined` when there is no such folder. */
  reopen(): Promise<Held | undefined> {
    return this.#handle.reopen();
  }

  list(): Promise<readonly NamedFile[]> {
    return this.#handle.call("folder.list");
  }

  async open(name: string): Promise<OpenFile | undefined> {
    const file = new RemoteFile(this, this.#worker, name);
    return (await file.reopen()) ? file : undefined;
  }

  /** Opens a file in the worker that holds the folder. */
  async openFile(name: string): Promise<HeldFile | undefined> {
    const { process, handle } = await this.#handle.holding();
    const opened = await this.#worker.call<Pick<HeldFile, "handle" | "id"> | undefined>(
      process,
      "folder.openFile",
      [handle, name],
      this.path,
    );
    return opened && { process, ...opened };
  }

  watch(onChange: (change: "names" | "content") => void): () => void {
    const { process, handle } = this.#handle.held ?? {};
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
    await this.#handle.close();
  }
}

/** A file held open in a worker; the id stays the same when the file is renamed. */
interface HeldFile extends Held {
  readonly id: string;
}

/** Found again by its id, whatever it is called by then, when its worker is replaced. */
class RemoteFile implements OpenFile {
  readonly #folder: RemoteFolder;
  readonly #name: string;
  readonly #handle: RemoteHandle<HeldFile>;

  constructor(folder: RemoteFolder, worker: HandleWorker, name: string) {
    this.#folder = folder;
    this.#name = name;
    this.#handle = new RemoteHandle<HeldFile>(
      `${folder.path}/${name}`,
      worker,
      () => this.#open(),
      ({ id }) => id === (this.#handle.held?.id ?? id),
    );
  }

  async #open(): Promise<HeldFile | undefined> {
    const known = this.#handle.held?.id;
    const name =
      known === undefined
        ? this.#name
        : (await this.#folder.list()).find(({ id }) => id === known)?.name;
    return name === undefined ? undefined : await this.#folder.openFile(name);
  }

  reopen(): Promise<HeldFile | undefined> {
    return this.#handle.reopen();
  }

  get id(): string {
    return this.#handle.held?.id ?? "";
  }

  sizeBytes(): Promise<number> {
    return this.#handle.call("file.size");
  }

  read(offset: number, maxBytes: number): Promise<Uint8Array> {
    return this.#handle.call("file.read", offset, maxBytes);
  }

  unzipped(): AsyncIterable<Uint8Array> {
    return unzipChunks((offset, maxBytes) => this.read(offset, maxBytes), this.#handle.path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }
}
