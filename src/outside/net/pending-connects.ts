import type { ConnectProgress, SystemSockets } from "./system-sockets.ts";

/** A connection that is neither made nor refused yet. */
interface Pending {
  readonly descriptor: number;
  readonly onProgress: (progress: ConnectProgress) => void;
}

/** Longest time between two checks, and so the most by which a connection is noticed late. */
const MAX_GAP_MS = 50;

/**
 * Checks connections in progress until they are made or refused: at the end of the turn, then after 1 ms and twice as long each
 * time, with one timer for all of them. A new one starts this over, since most are made within the first milliseconds.
 */
export class PendingConnects {
  readonly #sockets: Pick<SystemSockets, "progress">;
  readonly #pending = new Set<Pending>();
  #gapMs = 0;
  #immediate: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(sockets: Pick<SystemSockets, "progress">) {
    this.#sockets = sockets;
  }

  /**
   * Calls `onProgress`, which must not throw, once with what becomes of the connection, unless the result was called
   * before. It is never called with "pending".
   */
  add(descriptor: number, onProgress: (progress: ConnectProgress) => void): () => void {
    const pending = { descriptor, onProgress };
    this.#pending.add(pending);
    this.#unset();
    this.#gapMs = 0;
    this.#set();
    return () => {
      this.#pending.delete(pending);
      if (this.#pending.size === 0) this.#unset();
    };
  }

  #set(): void {
    if (this.#gapMs === 0) this.#immediate = setImmediate(() => this.#check());
    else this.#timer = setTimeout(() => this.#check(), this.#gapMs);
  }

  #unset(): void {
    clearImmediate(this.#immediate);
    clearTimeout(this.#timer);
  }

  #check(): void {
    for (const pending of this.#pending) {
      const progress = this.#sockets.progress(pending.descriptor);
      if (progress.kind === "pending") continue;
      this.#pending.delete(pending);
      pending.onProgress(progress);
    }
    if (this.#pending.size === 0) return;
    this.#gapMs = Math.min(Math.max(1, this.#gapMs * 2), MAX_GAP_MS);
    this.#set();
  }
}
