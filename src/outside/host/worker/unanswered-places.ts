import type { Clock, MonotonicMs } from "../../../kit/clock.ts";
import { OutsideError } from "../../../kit/errors.ts";
import type { Log } from "../../../kit/log.ts";
import { mountTable } from "../mounts/mounts.ts";
import { COLLECTIVE, OPERATION_LIMITS_MS, type OperationName } from "./operations.ts";
import {
  afterTimeout,
  isForgotten,
  isWithin,
  mayTry,
  placeOf,
  type Unanswered,
} from "./unanswered.ts";

/** Places remembered at once; each has run into a limit, and goes when it answers. */
const MAX_PLACES = 256;

/** A killed process that is in no system call, or in one that can be interrupted, is gone by then. */
const KILLED_WITHIN_MS = 1_000;

/** Operations that undo a mount are tried nevertheless: they may end the hang. */
export const UNDOING: ReadonlySet<OperationName> = new Set([
  "volumes.unmount",
  "volumes.unmapDevice",
  "volumes.mountsWithin",
]);

/** An unresponsive place, for messages. */
interface UnansweredFacts {
  /** The file system, e.g. `fuse at /mnt/data`, or a path. */
  readonly shown: string;
  readonly sinceMs: MonotonicMs;
  /** Processes that wait there. */
  readonly stuck: number;
}

/** Which file systems do not answer, for all who ask through workers. */
export class UnansweredPlaces {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #places = new Map<string, Unanswered>();
  #timeouts = 0;

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Processes left behind that have not returned. */
  get stuck(): number {
    let stuck = 0;
    for (const place of this.#places.values()) stuck += place.stuck;
    return stuck;
  }

  /** Requests that ran into their limit, ever. */
  get timeouts(): number {
    return this.#timeouts;
  }

  /** All places that do not answer, oldest first. */
  list(): readonly UnansweredFacts[] {
    const now = this.#clock.monotonic();
    for (const [key, place] of this.#places) if (isForgotten(place, now)) this.#places.delete(key);
    return [...this.#places.values()]
      .map(({ shown, since, stuck }) => ({ shown, sinceMs: since, stuck }))
      .sort((a, b) => a.sinceMs - b.sinceMs);
  }

  /** Why nothing is asked of the paths now; a place that may be tried again is from here on being tried. */
  refusal(operation: OperationName, paths: readonly string[]): OutsideError | undefined {
    if (this.#places.size === 0 || UNDOING.has(operation)) return undefined;
    const now = this.#clock.monotonic();
    for (const [key, unanswered] of this.#places) {
      const path = paths.find((each) => isWithin(each, unanswered.place));
      if (path === undefined) continue;
      if (!mayTry(unanswered, now)) {
        const seconds = Math.round((now - unanswered.since) / 1000);
        const message = `${actionOf(operation)} ${path}: unknown, because ${unanswered.shown} has not answered for ${seconds} s`;
        return new OutsideError("unavailable", message);
      }
      const retryAt = (now + OPERATION_LIMITS_MS[operation]) as MonotonicMs;
      this.#places.set(key, { ...unanswered, retryAt });
    }
    return undefined;
  }

  /** A request got its answer, good or bad: what was held against its place is over. */
  answered(path: string): void {
    if (this.#places.size === 0) return;
    for (const [key, unanswered] of this.#places)
      if (unanswered.stuck === 0 && isWithin(path, unanswered.place)) this.#over(key, unanswered);
  }

  /**
   * A request ran into its limit. `worker` is about to be killed. The error is for the caller. Of several paths none
   * is suspected before it was asked for alone, and nothing is where a request has none.
   */
  timedOut(
    operation: OperationName,
    paths: readonly string[],
    began: MonotonicMs,
    worker: { readonly exited: Promise<void> },
  ): OutsideError {
    this.#timeouts += 1;
    const seconds = OPERATION_LIMITS_MS[operation] / 1000;
    if (COLLECTIVE.has(operation) && paths.length > 1) {
      const message = `${actionOf(operation)} ${paths.length} paths: one did not answer within ${seconds} s`;
      return new OutsideError("deadline", message);
    }
    const [path] = paths;
    // A request about no file: whatever keeps it from ending is no file system.
    if (path === undefined)
      return new OutsideError("deadline", `${operation}: not done within ${seconds} s`);
    const found = placeOf(path, mountTable());
    const key = found.path;
    const now = this.#clock.monotonic();
    const known = this.#places.get(key);
    if (!known) this.#dropOldest();
    this.#places.set(key, afterTimeout(known, found, { began, now }));
    const message = `${actionOf(operation)} ${path}: unknown, because ${found.shown} did not answer within ${seconds} s`;
    if (!known)
      this.#log.warn("file system does not answer", { path, fileSystem: found.shown, seconds });
    void worker.exited.then(() => this.#returned(key, now));
    return new OutsideError("deadline", message);
  }

  /** A process that was killed at `killedAt` has ended: the system call it was in has returned. */
  #returned(key: string, killedAt: MonotonicMs): void {
    const known = this.#places.get(key);
    if (!known) return;
    const stuck = Math.max(0, known.stuck - 1);
    // The kernel ends a process at once where it can; one that stayed has waited for an answer, and got it.
    const hasAnswered = this.#clock.monotonic() - killedAt > KILLED_WITHIN_MS;
    if (stuck === 0 && (hasAnswered || !known.place.below)) this.#over(key, known);
    else this.#places.set(key, { ...known, stuck });
  }

  #over(key: string, { shown, since }: Unanswered): void {
    this.#places.delete(key);
    const afterSeconds = Math.round((this.#clock.monotonic() - since) / 1000);
    this.#log.info("file system answers again", { fileSystem: shown, afterSeconds });
  }

  /** Drops the oldest without waiting callers. */
  #dropOldest(): void {
    if (this.#places.size < MAX_PLACES) return;
    for (const [key, { stuck }] of this.#places) {
      if (stuck > 0) continue;
      this.#places.delete(key);
      return;
    }
  }
}

/** `files.readTail` → `readTail`. */
function actionOf(operation: OperationName): string {
  return operation.slice(operation.indexOf(".") + 1);
}
