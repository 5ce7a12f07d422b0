import type { ConnectProgress, SystemSockets } from "./system-sockets.ts";

/** A connection that is neither made nor refused yet. */
interface Pending {
  readonly descriptor: number;
  readonly onProgress: (progress: ConnectProgress) => void;
  /** From its last check to the next; 0 before the first. */
  gapMs: number;
  dueMs: number;
}

/** Longest time between two checks, and so the most by which a connection is noticed late. */
const MAX_GAP_MS = 50;
/** Timers count whole milliseconds of a turn's beginning, and may end that much too early. */
const TIMER_SLACK_MS = 1;

/**
 * Checks connections in progress until they are made or refused. Each is checked at the end of the turn in which it was added,
 * then after 1 ms and twice as long each time, since most are made within the first milliseconds; from the longest gap on all
 * are checked together. So each is checked some 20 times a second, however many others are added, and one timer does.
 */
export class PendingConnects {
  readonly #sockets: Pick<SystemSockets, "progress">;
  readonly #now: () => number;
  /** Connections of the last 63 ms, each with a gap of its own. */
  readonly #fresh = new Set<Pending>();
  /** The others: nodes whose network is down may have a thousand. */
  readonly #old = new Set<Pending>();
  #oldDueMs = 0;
  #immediate: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer ends; infinite without one. */
  #timerDueMs = Number.POSITIVE_INFINITY;

  /** `now` gives milliseconds from any point in time, as timers count them. */
  constructor(sockets: Pick<SystemSockets, "progress">, now = () => performance.now()) {
    this.#sockets = sockets;
    this.#now = now;
  }

  /**
   * Calls `onProgress`, which must not throw, once with what becomes of the connection, unless the result was called
   * before. It is never called with "pending".
   */
  add(descriptor: number, onProgress: (progress: ConnectProgress) => void): () => void {
    const pending = { descriptor, onProgress, gapMs: 0, dueMs: this.#now() };
    this.#fresh.add(pending);
    this.#immediate ??= setImmediate(() => {
      this.#immediate = undefined;
      this.#check();
    });
    return () => {
      this.#forget(pending);
      if (this.#fresh.size + this.#old.size === 0) this.#unset();
    };
  }

  #forget(pending: Pending): void {
    this.#fresh.delete(pending);
    this.#old.delete(pending);
  }

  #unset(): void {
    clearImmediate(this.#immediate);
    this.#immediate = undefined;
    this.#unsetTimer();
  }

  #unsetTimer(): void {
    clearTimeout(this.#timer);
    this.#timerDueMs = Number.POSITIVE_INFINITY;
  }

  #check(): void {
    const now = this.#now();
    const isDue = (dueMs: number) => dueMs < now + TIMER_SLACK_MS;
    if (this.#old.size > 0 && isDue(this.#oldDueMs)) {
      for (const pending of this.#old) this.#checkOne(pending);
      this.#oldDueMs = now + MAX_GAP_MS;
    }
    for (const pending of this.#fresh) {
      if (!isDue(pending.dueMs) || !this.#checkOne(pending)) continue;
      pending.gapMs = Math.max(1, pending.gapMs * 2);
      pending.dueMs = now + pending.gapMs;
      if (pending.gapMs < MAX_GAP_MS) continue;
      this.#fresh.delete(pending);
      if (this.#old.size === 0) this.#oldDueMs = now + MAX_GAP_MS;
      this.#old.add(pending);
    }
    this.#set(now);
  }

  /** Checks one; whether it is still in progress. */
  #checkOne(pending: Pending): boolean {
    const progress = this.#sockets.progress(pending.descriptor);
    if (progress.kind === "pending") return true;
    this.#forget(pending);
    pending.onProgress(progress);
    return false;
  }

  /** Sets the timer to the next check that is due. */
  #set(now: number): void {
    let dueMs = this.#old.size > 0 ? this.#oldDueMs : Number.POSITIVE_INFINITY;
    for (const pending of this.#fresh) dueMs = Math.min(dueMs, pending.dueMs);
    if (dueMs === this.#timerDueMs) return;
    this.#unsetTimer();
    if (dueMs === Number.POSITIVE_INFINITY) return;
    this.#timerDueMs = dueMs;
    this.#timer = setTimeout(
      () => {
        this.#timerDueMs = Number.POSITIVE_INFINITY;
        this.#check();
      },
      Math.ceil(dueMs - now),
    );
  }
}
