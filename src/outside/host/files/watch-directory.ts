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

/** Events kept until they are reported; later ones are dropped. */
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

type State =
  | { readonly kind: "arming" }
  | { readonly kind: "armed" }
  | { readonly kind: "due"; readonly scan: NodeJS.Immediate }
  | { readonly kind: "scanning"; changedAgain: boolean }
  | { readonly kind: "failed"; readonly cancelRetry: () => void }
  | { readonly kind: "closed" };

/**
 * ```
 *           watched            event          next turn
 *  arming ----------> armed ----------> due ------------> scanning
 *   ^  ^                ^                ^                 | | |
 *   |  |                |                '- changed again -' | |
 *   |  |                '--------- the same folder ----------' |
 *   |  '-------------------- another folder -------------------'
 *   '- a while later - failed (from all others after an error)
 * ```
 * An armed watch is due at once, because what came before it went unseen. Closing ends all of them.
 */
class DirectoryWatch {
  readonly #deps: DirectoryWatchDeps;
  readonly #path: string;
  readonly #onChange: (events: readonly FolderEvent[]) => void;
  #state: State = { kind: "armed" };
  /** What was watched last; `inode` is that of the folder. */
  #watched = { watchers: [] as FSWatcher[], inode: 0n, isReplaced: false };
  #events: FolderEvent[] = [];
  #failures = 0;

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
    this.#enter({ kind: "closed" });
    this.#disarm();
  }

  /** Leaves the state with what waits in it. */
  #enter(state: State): void {
    const left = this.#state;
    if (left.kind === "due") clearImmediate(left.scan);
    if (left.kind === "failed") left.cancelRetry();
    this.#state = state;
  }

  #disarm(): void {
    for (const watcher of this.#watched.watchers) watcher.close();
    this.#watched = { watchers: [], inode: 0n, isReplaced: false };
  }

  arm(): void {
    this.#disarm();
    const arming: State = { kind: "arming" };
    this.#enter(arming);
    this.#tryArm(arming).then(
      () => {
        if (this.#state !== arming) return;
        this.#failures = 0;
        this.#enter({ kind: "armed" });
        this.#wake();
      },
      (thrown: unknown) => {
        if (this.#state === arming) this.#retryLater(thrown);
      },
    );
  }

  async #tryArm(arming: State): Promise<void> {
    await mkdir(this.#path, { recursive: true, mode: FOLDER_MODE });
    if (this.#state !== arming) return;
    const watched = this.#watched;
    this.#watch(this.#path, (name, type) => {
      if (name !== null && this.#events.length < MAX_EVENTS)
        this.#events.push({ kind: type === "rename" ? "entry" : "content", name });
      // Removing or moving the folder is reported under its own name. An entry may bear that name
      // too; then arming again does no harm.
      if (name === basename(this.#path)) watched.isReplaced = true;
      this.#wake();
    });
    // A removed folder in which a file or socket is still open reports nothing; its parent does.
    const parent = dirname(this.#path);
    this.#watch(parent, (name) => {
      if (name === basename(this.#path) || name === basename(parent)) this.#wake();
    });
    watched.inode = await inodeOf(this.#path);
  }

  #watch(folder: string, onEvent: (name: string | null, type: string) => void): void {
    const watcher = watch(folder, { persistent: false }, (type, name) => onEvent(name, type));
    this.#watched.watchers.push(watcher);
    watcher.on("error", (error) => {
      if (this.#watched.watchers.includes(watcher)) this.#retryLater(error);
    });
  }

  #retryLater(thrown: unknown): void {
    this.#disarm();
    this.#failures += 1;
    const delayMs = retryDelayMs(this.#failures, RETRY);
    const error = hostError("watch", this.#path, thrown);
    this.#deps.log.warn("cannot watch folder", { path: this.#path, delayMs, error });
    const cancelRetry = this.#deps.clock.alarm(delayMs, () => this.arm());
    this.#enter({ kind: "failed", cancelRetry });
  }

  #wake(): void {
    if (this.#state.kind === "scanning") this.#state.changedAgain = true;
    if (this.#state.kind !== "armed") return;
    const scan = setImmediate(() => void this.#scan());
    this.#enter({ kind: "due", scan });
  }

  /** A watch follows the inode, so a folder of the same name may be another one by now. */
  async #scan(): Promise<void> {
    const scanning: State & { readonly kind: "scanning" } = {
      kind: "scanning",
      changedAgain: false,
    };
    this.#enter(scanning);
    const inode = await inodeOf(this.#path).catch(() => undefined);
    if (this.#state !== scanning) return;
    this.#notify();
    // The listener may have closed the watch.
    if (this.#state !== scanning) return;
    if (this.#watched.isReplaced || inode !== this.#watched.inode) return this.arm();
    this.#enter({ kind: "armed" });
    if (scanning.changedAgain) this.#wake();
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
