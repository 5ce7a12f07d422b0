import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isSea } from "node:sea";
import { OutsideError } from "../../../kit/errors.ts";
import { WORKER_MALLOC, WORKER_NODE_FLAGS, WORKER_NODE_OPTIONS } from "../../memory/memory.ts";
import { encodeFrame, FrameReader } from "./frames.ts";
import { restoreFailure, type WorkerMessage, type WorkerRequest } from "./protocol.ts";

/** Beside the bundle, or this file's neighbour where the sources are run. */
const PROGRAM = import.meta.filename.endsWith(".ts")
  ? join(import.meta.dirname, "main.ts")
  : join(dirname(import.meta.filename), "file-worker.cjs");

/** The first argument by which a single executable becomes a file worker. */
export const FILE_WORKER_COMMAND = "__file-worker";

/** The administrator's programs, and little that Node reads. */
const ENVIRONMENT = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  ...WORKER_MALLOC,
};

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly onProgress: (() => void) | undefined;
}

/** One worker: a child process that answers requests. */
export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, Pending>();
  readonly #watchers = new Map<number, (change: "names" | "content") => void>();
  readonly #exited: Promise<void>;
  #lastId = 0;
  #isReady = false;
  #ended: Error | undefined;

  /** Starts it, to serve one request after the other, or all that come. A failure to start is reported by the requests sent to it. */
  constructor(serves: "in turn" | "side by side") {
    // A session of its own: Ctrl-C is for the agent, which still needs it to put things in order.
    const program = isSea() ? [FILE_WORKER_COMMAND] : [...WORKER_NODE_FLAGS, PROGRAM];
    const mode = serves === "in turn" ? [] : ["--side-by-side"];
    this.#child = spawn(process.execPath, [...program, ...mode], {
      stdio: ["pipe", "pipe", "inherit"],
      // A single executable takes flags for Node only from the environment.
      env: isSea() ? { ...ENVIRONMENT, NODE_OPTIONS: WORKER_NODE_OPTIONS } : ENVIRONMENT,
      cwd: "/",
      detached: true,
    });
    const child = this.#child;
    // Neither the process nor its pipes keep an agent that has nothing left to do.
    child.unref();
    const reader = new FrameReader();
    child.stdout?.on("data", (piece: Buffer) => {
      for (const message of reader.push(piece)) this.#receive(message as WorkerMessage);
    });
    child.stdin?.on("error", () => {});
    this.#exited = new Promise((resolve) => {
      child.once("error", (error) => {
        this.#fail(
          new OutsideError("unavailable", `failed to start file worker: ${error.message}`),
        );
        resolve();
      });
      child.once("exit", (code, signal) => {
        const how = signal === null ? `exit code ${code}` : `signal ${signal}`;
        this.#fail(new OutsideError("unavailable", `the file worker ended with ${how}`));
        resolve();
      });
    });
    this.#keepAlive(false);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Resolves when the process is gone. One in a system call that does not return stays until it does. */
  get exited(): Promise<void> {
    return this.#exited;
  }

  /** Whether it takes no requests any more. */
  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /** Whether it has started, and serves requests. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /**
   * Whether it waits in a system call: it has started, and none of its threads runs or waits for a CPU. On a busy machine a worker
   * that is late is mostly not blocked.
   */
  isBlocked(): boolean {
    return this.#isReady && !this.ended && this.pid !== undefined && !hasRunningThread(this.pid);
  }

  /** Requests without an answer. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Sends a request; rejects with what went wrong, or "unavailable" when the worker ends before. */
  call(operation: string, args: readonly unknown[], onProgress?: () => void): Promise<unknown> {
    if (this.#ended) return Promise.reject(this.#ended);
    this.#lastId += 1;
    const request: WorkerRequest = { id: this.#lastId, operation, args };
    return new Promise((resolve, reject) => {
      this.#pending.set(request.id, { resolve, reject, onProgress });
      if (this.#pending.size === 1) this.#keepAlive(true);
      this.#child.stdin?.write(encodeFrame(request));
    });
  }

  /** Calls `onChange` for changes of a watch that `folder.watch` gave, until the result is called. */
  onChange(watch: number, onChange: (change: "names" | "content") => void): () => void {
    this.#watchers.set(watch, onChange);
    return () => this.#watchers.delete(watch);
  }

  /** Ends it. What is under way fails with `reason`. */
  kill(reason: Error): void {
    this.#fail(reason);
    this.#child.kill("SIGKILL");
  }

  #receive(message: WorkerMessage): void {
    if (message.kind === "ready") {
      this.#isReady = true;
      return;
    }
    if (message.kind === "changed") {
      this.#watchers.get(message.watch)?.(message.change);
      return;
    }
    const pending = this.#pending.get(message.id);
    if (!pending) return;
    if (message.kind === "progress") {
      pending.onProgress?.();
      return;
    }
    this.#pending.delete(message.id);
    if (this.#pending.size === 0) this.#keepAlive(false);
    if (message.kind === "done") pending.resolve(message.value);
    else pending.reject(restoreFailure(message.failure));
  }

  #fail(reason: Error): void {
    this.#ended ??= reason;
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    this.#watchers.clear();
    for (const { reject } of pending) reject(reason);
  }

  /** The pipes keep the process only while an answer is awaited. */
  #keepAlive(on: boolean): void {
    for (const stream of [this.#child.stdin, this.#child.stdout]) {
      const handle = stream as unknown as { ref?(): void; unref?(): void } | null;
      if (on) handle?.ref?.();
      else handle?.unref?.();
    }
  }
}

/** Whether the kernel shows any thread of a process as running or runnable (proc_pid_stat(5), `R`). */
function hasRunningThread(pid: number): boolean {
  try {
    const tasks = `/proc/${pid}/task`;
    return readdirSync(tasks).some((thread) => {
      const stat = readFileSync(`${tasks}/${thread}/stat`, "utf8");
      // The name before the state may hold brackets of its own.
      return stat[stat.lastIndexOf(")") + 2] === "R";
    });
  } catch {
    // A thread has just ended: something happens there.
    return true;
  }
}
