import { type FSWatcher, watch } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { retryDelayMs } from "../../../kit/backoff.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { Log } from "../../../kit/log.ts";
import type { FolderEvent } from "../host.ts";
import { hostError } from "../host-errors.ts";

export interface DirectoryWatchDeps {
  readonly clock: Clock;
  readonly log: Log;
}

/** Waits between attempts to make and watch the folder. */
const RETRY = { initialMs: 100, maxMs: 10_000 };

const FOLDER_MODE = 0o750;

/** Events kept until they are told; later ones are left out. */
const MAX_EVENTS = 4096;

/**
 * Calls `onChange` at most once a turn of the event loop whenever something in the folder `path` may
 * have changed, with what was reported of it, and once after every arming, because what came before it went unseen. The folder is
 * made when missing; when it is removed or replaced, the new one is watched. An overflow of the kernel's
 * queue is not reported: callers that must not miss a change also poll. Ends with `signal`.
 */
export function watchDirectory(
  deps: DirectoryWatchDeps,
  path: string,
  onChange: (events: readonly FolderEvent[]) => void,
  signal: AbortSignal,
): void {
  const watching = new DirectoryWatch(deps, path, onChange);
  if (signal.aborted) return;
  signal.addEventListener("abort", () => watching.close(), { once: true });
  watching.arm();
}

class DirectoryWatch {
  readonly #deps: DirectoryWatchDeps;
  readonly #path: string;
  readonly #onChange: (events: readonly FolderEvent[]) => void;
  #events: FolderEvent[] = [];
  #watchers: readonly FSWatcher[] = [];
  #inode = 0n;
  #pending: NodeJS.Immediate | undefined;
  #cancelRetry: (() => void) | undefined;
  #failures = 0;
  #arming = false;
  #replaced = false;
  #scanning = false;
  #changedWhileScanning = false;
  #closed = false;

  constructor(
    deps: DirectoryWatchDeps,
    path: string,
    onChange: (events: readonly FolderEvent[]) => void,
  ) {
    this.#deps = deps;
    this.#path = path;
    this.#onChange = onChange;
  }

  close(): void {
    this.#closed = true;
    this.#disarm();
    this.#cancelRetry?.();
    clearImmediate(this.#pending);
  }

  #disarm(): void {
    for (const watcher of this.#watchers) watcher.close();
    this.#watchers = [];
  }

  arm(): void {
    this.#disarm();
    this.#arming = true;
    this.#replaced = false;
    this.#tryArm().then(
      () => {
        this.#arming = false;
        this.#failures = 0;
        this.#wake();
      },
      (thrown: unknown) => {
        this.#arming = false;
        this.#retryLater(thrown);
      },
    );
  }

  async #tryArm(): Promise<void> {
    await mkdir(this.#path, { recursive: true, mode: FOLDER_MODE });
    if (this.#closed) return;
    this.#watch(this.#path, (name, type) => {
      if (name !== null && this.#events.length < MAX_EVENTS)
        this.#events.push({ kind: type === "rename" ? "entry" : "content", name });
      // Removing or moving the folder is reported under its own name. An entry may bear that name
      // too; then arming again does no harm.
      if (name === basename(this.#path)) this.#replaced = true;
      this.#wake();
    });
    // A removed folder in which a file or socket is still open reports nothing; its parent does.
    const parent = dirname(this.#path);
    this.#watch(parent, (name) => {
      if (name === basename(this.#path) || name === basename(parent)) this.#wake();
    });
    this.#inode = await inodeOf(this.#path);
  }

  #watch(folder: string, onEvent: (name: string | null, type: string) => void): void {
    const watcher = watch(folder, { persistent: false }, (type, name) => onEvent(name, type));
    this.#watchers = [...this.#watchers, watcher];
    watcher.on("error", (error) => {
      if (this.#watchers.includes(watcher)) this.#retryLater(error);
    });
  }

  #retryLater(thrown: unknown): void {
    if (this.#closed) return;
    this.#disarm();
    this.#cancelRetry?.();
    this.#failures += 1;
    const delayMs = retryDelayMs(this.#failures, RETRY);
    const error = hostError("watch", this.#path, thrown);
    this.#deps.log.warn("cannot watch folder", { path: this.#path, delayMs, error });
    this.#cancelRetry = this.#deps.clock.alarm(delayMs, () => this.arm());
  }

  #wake(): void {
    if (this.#scanning) this.#changedWhileScanning = true;
    const busy = this.#arming || this.#scanning || this.#pending !== undefined;
    if (this.#closed || busy) return;
    this.#pending = setImmediate(() => {
      this.#pending = undefined;
      void this.#scan();
    });
  }

  /** A watch follows the inode, so a folder of the same name may be another one by now. */
  async #scan(): Promise<void> {
    this.#scanning = true;
    this.#changedWhileScanning = false;
    const inode = await inodeOf(this.#path).catch(() => undefined);
    this.#scanning = false;
    if (this.#closed) return;
    this.#notify();
    if (this.#replaced || inode !== this.#inode) this.arm();
    else if (this.#changedWhileScanning) this.#wake();
  }

  #notify(): void {
    const events = this.#events;
    this.#events = [];
    try {
      this.#onChange(events);
    } catch (error) {
      this.#deps.log.error("failed to handle a change in a folder", { path: this.#path, error });
    }
  }
}

async function inodeOf(path: string): Promise<bigint> {
  return (await stat(path, { bigint: true })).ino;
}
