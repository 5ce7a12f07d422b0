import { constants, fstatSync, openSync, writeSync } from "node:fs";
import { Socket } from "node:net";

/** A descriptor, and when lines go there. */
export interface LineTarget {
  readonly fd: number;
  /** Bytes that are gathered before they are written; 0 writes at the end of each turn of the event loop. */
  readonly bufferBytes: number;
  /** How often gathered lines are written at least, in milliseconds. */
  readonly flushMs: number;
}

/** Destination of log lines. */
export interface LineSink {
  /** Never waits. */
  readonly write: (line: string) => void;
  /** Writes all that waits; gives up when none of it is read for `FLUSH_WAIT_MS`. */
  readonly flush: () => void;
}

/** Lines are gathered up to this size at least. */
const BUFFER_BYTES = 4096;
/** Limit of lines that wait for a stalled reader, in bytes; further lines are dropped and counted. */
export const MAX_WAITING_BYTES = 1024 * 1024;
/** Pauses between tries while the reader does not read: the kernel does not report when a descriptor is writable again. */
const RETRY_MS = { initial: 10, max: 250 };
/** How long the end of the process waits for a reader that takes nothing. */
const FLUSH_WAIT_MS = 1_000;

/**
 * Lines to a descriptor whose reader may stall: nothing here blocks the thread but `flush`. `onDropped` is called
 * with the number of lines that were dropped, as soon as the reader has taken those that waited.
 */
export function createLineSink(target: LineTarget, onDropped: (lines: number) => void): LineSink {
  const sink = new WaitingLines({ ...target, fd: nonBlocking(target.fd) }, onDropped);
  return { write: (line) => sink.write(line), flush: () => sink.flush() };
}

class WaitingLines {
  readonly #target: LineTarget;
  readonly #onDropped: (lines: number) => void;
  /** Whole lines. */
  #pending = "";
  /** Taken out of `pending` and not written yet; may begin within a line. */
  #unwritten: Buffer = Buffer.alloc(0);
  #dropped = 0;
  #next: "none" | "drain" | "retry" = "none";
  #retryMs = RETRY_MS.initial;

  constructor(target: LineTarget, onDropped: (lines: number) => void) {
    this.#target = target;
    this.#onDropped = onDropped;
  }

  write(line: string): void {
    if (this.#unwritten.length + this.#pending.length + line.length > MAX_WAITING_BYTES) {
      this.#dropped += 1;
      return;
    }
    this.#pending += line;
    if (this.#next === "retry") return;
    const { bufferBytes, flushMs } = this.#target;
    if (this.#pending.length >= Math.max(bufferBytes, BUFFER_BYTES)) this.#drain();
    else if (this.#next === "none") {
      this.#next = "drain";
      const drain = () => this.#drain();
      if (bufferBytes === 0) setImmediate(drain);
      else setTimeout(drain, flushMs).unref();
    }
  }

  flush(): void {
    const sleep = new Int32Array(new SharedArrayBuffer(4));
    let waitedMs = 0;
    while (waitedMs < FLUSH_WAIT_MS) {
      const before = this.#unwritten.length + this.#pending.length;
      if (this.#drain()) return;
      if (this.#unwritten.length + this.#pending.length < before) waitedMs = 0;
      Atomics.wait(sleep, 0, 0, RETRY_MS.initial);
      waitedMs += RETRY_MS.initial;
    }
  }

  /** Writes until nothing is left, or the reader takes no more; says which. */
  #drain(): boolean {
    if (this.#next === "drain") this.#next = "none";
    while (this.#take()) {
      try {
        this.#unwritten = this.#unwritten.subarray(writeSync(this.#target.fd, this.#unwritten));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "EAGAIN") {
          this.#retryLater();
          return false;
        }
        // A closed descriptor, or a full disk, is not worth dying for.
        this.#unwritten = Buffer.alloc(0);
      }
      this.#retryMs = RETRY_MS.initial;
    }
    return true;
  }

  /** Sees to it that there is something to write; the note on what was dropped comes where it is missing. */
  #take(): boolean {
    if (this.#unwritten.length > 0) return true;
    if (this.#pending === "" && this.#dropped > 0) {
      const lines = this.#dropped;
      this.#dropped = 0;
      this.#onDropped(lines);
    }
    this.#unwritten = Buffer.from(this.#pending);
    this.#pending = "";
    return this.#unwritten.length > 0;
  }

  #retryLater(): void {
    if (this.#next === "retry") return;
    this.#next = "retry";
    const retry = () => {
      this.#next = "none";
      this.#drain();
    };
    setTimeout(retry, this.#retryMs).unref();
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MS.max);
  }
}

/**
 * A descriptor for the same file whose writes do not wait. Others may hold the one that was given, so pipes and
 * terminals are opened again; a socket cannot be, and is switched. One that is neither, or cannot be, stays as it is.
 */
function nonBlocking(fd: number): number {
  const facts = fstatSync(fd);
  try {
    if (facts.isSocket()) new Socket({ fd, readable: false, writable: true }).unref();
    if (facts.isFile() || facts.isSocket()) return fd;
    const flags = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
    return openSync(`/proc/self/fd/${fd}`, flags);
  } catch {
    return fd;
  }
}
