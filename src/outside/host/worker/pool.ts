import type { Clock, MonotonicMs } from "../../../kit/clock.ts";
import { OutsideError } from "../../../kit/errors.ts";
import type { Log } from "../../../kit/log.ts";
import { mountTable } from "../mounts/mounts.ts";
import { checkAfterReads, limitOperation } from "./operation-limit.ts";
import { COLLECTIVE, OPERATION_LIMITS_MS, type OperationName } from "./operations.ts";
import { isWithin, type Place, placeOf } from "./unanswered.ts";
import { UNDOING, type UnansweredPlaces } from "./unanswered-places.ts";
import { WorkerProcess } from "./worker-process.ts";

/** Workers at work on requests that are not late. */
const MAX_ACTIVE = 4;

/** Workers that are late or were left behind, beyond which only local disks are asked. */
const MAX_STUCK = 16;

/** Walks that get on for longer than `LATE_MS`, which no longer count among the active ones. */
const MAX_WALKS = 4;

/**
 * A request without progress for this long is late when its worker is blocked: others go on beside it, but not
 * at the same place.
 */
const LATE_MS = 500;

/**
 * A request waits this long for a worker before another one is started, and only where one at work is blocked in a
 * system call: starting one takes as much CPU as several hundred requests and 15 MiB. While many pods start on a
 * machine without CPU to spare, calls wait for locks of the kernel and for commits of the file system again and again,
 * often for more than 150 ms.
 */
const GROW_AFTER_MS = 500;

/** A worker in a system call counts as blocked once it has been at its request for this long; checked as often. */
const BLOCKED_AFTER_MS = 150;

/** Workers beyond the first end when they had nothing to do for this long: each holds 15 MiB. */
const IDLE_MS = 10_000;

/** Requests that wait for a worker. */
const MAX_WAITING = 10_000;

interface PoolDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** A worker that was started ahead; default none. */
  readonly first?: WorkerProcess;
}

interface Job {
  readonly operation: OperationName;
  readonly args: readonly unknown[];
  /** Paths of the request; messages name the first. */
  readonly paths: readonly string[];
  readonly queuedAt: MonotonicMs;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** How a request gets on: quickly, slowly but steadily (or without a CPU), or not at all for the moment. */
type Pace =
  | { readonly kind: "quick" }
  | { readonly kind: "walking" }
  | { readonly kind: "late"; readonly at: Place | undefined };

interface Work {
  readonly job: Job;
  readonly beganAt: MonotonicMs;
  pace: Pace;
  cancelAlarms: () => void;
}

/** A worker may be started, because a request has waited for a while. */
interface Growth {
  /** Also beside workers that are active: one of them is blocked. */
  readonly besideActive: boolean;
}

interface Slot {
  readonly process: WorkerProcess;
  work: Work | undefined;
  cancelIdle: () => void;
}

/**
 * File workers, each with one request at a time. One whose request runs into its limit is killed, left behind
 * if the kernel does not let it go, and replaced; the file system it hangs in is not asked again before it
 * answers (`UnansweredPlaces`).
 */
export class WorkerPool {
  readonly #deps: PoolDeps;
  readonly #places: UnansweredPlaces;
  readonly #waiting: Job[] = [];
  readonly #slots = new Set<Slot>();
  #cancelGrow: (() => void) | undefined;
  #closed = false;

  constructor(deps: PoolDeps, places: UnansweredPlaces) {
    this.#deps = deps;
    this.#places = places;
    if (deps.first) this.#add(deps.first);
  }

  /** Workers that run, and how long the oldest request has waited for one. */
  facts(): { readonly workers: number; readonly late: number; readonly waitingMs: number } {
    const [oldest] = this.#waiting;
    const late = this.#count("late");
    const waitingMs = oldest ? this.#deps.clock.monotonic() - oldest.queuedAt : 0;
    return { workers: this.#slots.size, late, waitingMs };
  }

  /**
   * Runs an operation in a worker. Errors are those of the operation, and "deadline" when the file system does
   * not answer, "unavailable" when it has not answered others before.
   */
  run(
    operation: OperationName,
    args: readonly unknown[],
    paths: readonly string[],
  ): Promise<unknown> {
    const [path = ""] = paths;
    if (this.#closed) return Promise.reject(leaving());
    if (this.#waiting.length >= MAX_WAITING) {
      const message = `${operation} ${path}: ${MAX_WAITING} file operations are waiting`;
      return Promise.reject(new OutsideError("exhausted", message));
    }
    const queuedAt = this.#deps.clock.monotonic();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ operation, args, paths, queuedAt, resolve, reject });
      this.#dispatch();
    });
  }

  /** Ends all workers; what is under way fails. */
  close(): void {
    this.#closed = true;
    const reason = leaving();
    this.#cancelGrow?.();
    for (const { reject } of this.#waiting.splice(0)) reject(reason);
    for (const slot of this.#slots) this.#retire(slot, reason);
  }

  /** Why a request is not made: its place does not answer, or too many others do not. */
  #refusal({ operation, paths }: Job): OutsideError | undefined {
    const refused = this.#places.refusal(operation, paths);
    if (refused || this.#places.stuck + this.#count("late") < MAX_STUCK) return refused;
    const mounts = mountTable();
    if (!paths.some((path) => placeOf(path, mounts).below)) return undefined;
    const message = `${operation} ${paths[0]}: unknown, because ${MAX_STUCK} file workers wait for file systems that do not answer`;
    return new OutsideError("unavailable", message);
  }

  #count(kind: Pace["kind"]): number {
    let count = 0;
    for (const { work } of this.#slots) if (work?.pace.kind === kind) count += 1;
    return count;
  }

  /** Hands waiting requests to workers that are free; with `growth` to one that is started, too. */
  #dispatch(growth?: Growth): void {
    let mayGrow = growth;
    for (let at = 0; at < this.#waiting.length; ) {
      const job = this.#waiting[at] as Job;
      if (this.#waitsForLate(job)) {
        at += 1;
        continue;
      }
      const { size } = this.#slots;
      const slot = this.#freeSlot(job, mayGrow);
      if (!slot) break;
      // One at a time: starting one takes this process long enough for others to become free.
      if (this.#slots.size > size) mayGrow = undefined;
      this.#waiting.splice(at, 1);
      const refused = this.#refusal(job);
      if (refused) job.reject(refused);
      else this.#work(slot, job);
    }
    this.#growLater();
  }

  /** Whether another request for the same place is late: this one would only be the next to hang. */
  #waitsForLate({ operation, paths }: Job): boolean {
    if (UNDOING.has(operation)) return false;
    for (const { work } of this.#slots) {
      const pace = work?.pace;
      const at = pace?.kind === "late" ? pace.at : undefined;
      if (at && paths.some((path) => isWithin(path, at))) return true;
    }
    return false;
  }

  #freeSlot(job: Job, growth: Growth | undefined): Slot | undefined {
    for (const slot of this.#slots) if (slot.work === undefined) return slot;
    const walking = this.#count("walking");
    const active = this.#count("quick") + Math.max(0, walking - MAX_WALKS);
    if (active >= MAX_ACTIVE) return undefined;
    if (active === 0 && walking === 0) return this.#start();
    if (!growth || this.#deps.clock.monotonic() - job.queuedAt < GROW_AFTER_MS) return undefined;
    return active === 0 || growth.besideActive ? this.#start() : undefined;
  }

  /**
   * Whether a worker has been at a request for a while and is blocked there, or is late at a file system of its own:
   * the server behind it may have others, each of which would take the only free worker.
   */
  #isOneBlocked(): boolean {
    const now = this.#deps.clock.monotonic();
    for (const { work, process } of this.#slots) {
      if (work?.pace.kind === "late" && work.pace.at?.below) return true;
      const isLong = work?.pace.kind === "quick" && now - work.beganAt >= BLOCKED_AFTER_MS;
      if (isLong && process.isBlocked()) return true;
    }
    return false;
  }

  /** Checks again when the oldest request has waited for long enough, and then every so often. */
  #growLater(): void {
    const [oldest] = this.#waiting;
    if (!oldest || this.#cancelGrow) return;
    const { clock } = this.#deps;
    const leftMs = GROW_AFTER_MS - (clock.monotonic() - oldest.queuedAt);
    const afterMs = Math.max(leftMs, BLOCKED_AFTER_MS);
    const isBlocked = () => this.#isOneBlocked();
    this.#cancelGrow = checkAfterReads({ clock, isBlocked, afterMs }, (besideActive) => {
      this.#cancelGrow = undefined;
      this.#dispatch({ besideActive });
    });
  }

  #start(): Slot {
    return this.#add(new WorkerProcess("in turn"));
  }

  #add(process: WorkerProcess): Slot {
    const slot: Slot = { process, work: undefined, cancelIdle: () => {} };
    this.#slots.add(slot);
    // One that ends by itself is not given work again; what it had fails with the reason.
    void slot.process.exited.then(() => {
      this.#slots.delete(slot);
      slot.cancelIdle();
    });
    return slot;
  }

  #work(slot: Slot, job: Job): void {
    slot.cancelIdle();
    const beganAt = this.#deps.clock.monotonic();
    const work: Work = { job, beganAt, pace: { kind: "quick" }, cancelAlarms: () => {} };
    slot.work = work;
    this.#arm(slot, work);
    const onProgress = () => {
      work.pace = { kind: "walking" };
      this.#arm(slot, work);
      this.#dispatch();
    };
    slot.process.call(job.operation, job.args, onProgress).then(
      (value) => this.#answered(slot, work, () => job.resolve(value)),
      (error: Error) => this.#answered(slot, work, () => job.reject(error)),
    );
  }

  /** Lateness and limit count from the last sign of progress. */
  #arm(slot: Slot, work: Work): void {
    const { clock } = this.#deps;
    work.cancelAlarms();
    const check = { clock, isBlocked: () => slot.process.isBlocked(), afterMs: LATE_MS };
    let cancelLate = () => {};
    const judge = (isBlocked: boolean) => {
      if (isBlocked) work.pace = { kind: "late", at: suspectedPlace(work.job) };
      else if (slot.process.isReady) work.pace = { kind: "walking" };
      if (!isBlocked) cancelLate = checkAfterReads(check, judge);
      this.#dispatch();
    };
    cancelLate = checkAfterReads(check, judge);
    const limitMs = OPERATION_LIMITS_MS[work.job.operation];
    const limited = { clock, process: slot.process, limitMs };
    const cancelLimit = limitOperation(limited, () => this.#giveUp(slot, work));
    work.cancelAlarms = () => {
      cancelLate();
      cancelLimit();
    };
  }

  #answered(slot: Slot, work: Work, settle: () => void): void {
    work.cancelAlarms();
    settle();
    if (slot.work !== work) return;
    slot.work = undefined;
    for (const path of work.job.paths) this.#places.answered(path);
    if (slot.process.ended) this.#slots.delete(slot);
    else if (this.#slots.size > 1)
      slot.cancelIdle = this.#deps.clock.alarm(IDLE_MS, () => this.#shrink(slot));
    this.#dispatch();
  }

  #shrink(slot: Slot): void {
    if (slot.work || this.#slots.size <= 1) return;
    this.#retire(slot, new OutsideError("unavailable", "the file worker was not needed"));
  }

  #retire(slot: Slot, reason: OutsideError): void {
    this.#slots.delete(slot);
    slot.cancelIdle();
    slot.work?.cancelAlarms();
    slot.process.kill(reason);
  }

  /** The request ran into its limit: its worker is left behind, and the place is not asked again for now. */
  #giveUp(slot: Slot, work: Work): void {
    const { operation, paths } = work.job;
    const error = this.#places.timedOut(operation, paths, work.beganAt, slot.process);
    this.#retire(slot, error);
    slot.work = undefined;
    this.#dispatch();
  }
}

/** File system on which a late request probably hangs; undefined when unknown, as of a request about no file. */
function suspectedPlace({ operation, paths }: Job): Place | undefined {
  const [path] = paths;
  if (path === undefined || (COLLECTIVE.has(operation) && paths.length > 1)) return undefined;
  return placeOf(path, mountTable());
}

function leaving(): OutsideError {
  return new OutsideError("aborted", "the agent is shutting down");
}
