/** Programs inside a box, started from outside of it. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";

/** How a program ended: by itself with a code, or by a signal. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** What `exec` gives: text output, code 128 + n where signal n ended the program. */
export interface ExecResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Settings of one program. */
export interface ProcessOptions {
  /** In addition to PATH, HOME, TMPDIR and LANG; nothing else is inherited. */
  readonly env?: Readonly<Record<string, string>>;
  /** Folder inside the box; default `/`. */
  readonly cwd?: string;
  /** Where output goes: a pipe (default) or an open file. */
  readonly output?: "pipe" | number;
}

/** Where a program is to run. */
export interface BoxTarget {
  /** The box's first process, as the machine counts. */
  readonly initPid: number;
  /** `cgroup.procs` files to join. */
  readonly cgroupProcs: readonly string[];
}

const ENVIRONMENT = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  HOME: "/root",
  TMPDIR: "/run/tmp",
  LANG: "C.UTF-8",
};
/** Joins the cgroups given before `--`, then becomes what follows. */
const JOIN = 'while [ "$1" != -- ]; do echo $$ >"$1" || exit 126; shift; done; shift; exec "$@"';
const NUMBER_OF_SIGNAL: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGABRT: 6,
  SIGKILL: 9,
  SIGSEGV: 11,
  SIGTERM: 15,
};

/** A running program of a box. It dies with the box at the latest. */
export class BoxProcess {
  readonly name: string;
  readonly stdin: Writable | null;
  readonly stdout: Readable | null;
  readonly stderr: Readable | null;
  /** Settles when the program has ended and its output is read; rejects when it could not start. */
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcess;
  #ended = false;

  constructor(target: BoxTarget, argv: readonly string[], options: ProcessOptions = {}) {
    this.name = argv[0] ?? "";
    const output = options.output ?? "pipe";
    const child = spawn("/bin/sh", ["-c", JOIN, "box", ...enterArguments(target, argv, options)], {
      // A group of its own, so that ^C in the terminal does not reach it and all of it can be killed.
      detached: true,
      env: { ...ENVIRONMENT, ...options.env },
      stdio: ["pipe", output, output],
    });
    this.#child = child;
    this.stdin = child.stdin;
    this.stdout = child.stdout;
    this.stderr = child.stderr;
    // A program may end without reading its input.
    child.stdin?.on("error", () => {});
    this.exited = new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) => {
        this.#ended = true;
        resolve({ code, signal });
      });
    });
    this.exited.catch(() => {});
  }

  /** True until the program has ended. */
  get running(): boolean {
    return !this.#ended && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** The program's process id as the machine counts; waits until it has entered the box. */
  async pid(): Promise<number> {
    for (let attempt = 0; attempt < 500 && this.running; attempt++) {
      const pid = this.#childOfNsenter();
      if (pid !== undefined) return pid;
      await sleep(5);
    }
    throw new Error(`${this.name} is not running`);
  }

  /** Sends a signal to the program itself; does nothing when it has ended. */
  async kill(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    if (!this.running) return;
    try {
      process.kill(await this.pid(), signal);
    } catch (error) {
      if (this.running && !isGone(error)) throw error;
    }
  }

  /** Kills the program and what it started in its process group. */
  killGroup(): void {
    if (this.#child.pid === undefined || !this.running) return;
    try {
      process.kill(-this.#child.pid, "SIGKILL");
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }

  #childOfNsenter(): number | undefined {
    const pid = this.#child.pid;
    if (pid === undefined) return undefined;
    try {
      const first = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ")[0];
      return first ? Number(first) : undefined;
    } catch {
      return undefined;
    }
  }
}

/** Settings of a program that is waited for. */
export interface ExecOptions extends ProcessOptions {
  readonly stdin?: string | Uint8Array;
  /** Default 30,000. */
  readonly timeoutMs?: number;
}

/** Runs a program to its end. Throws when it takes longer than allowed, with what it wrote until then. */
export async function execInBox(
  target: BoxTarget,
  argv: readonly string[],
  options: ExecOptions = {},
): Promise<ExecResult> {
  const running = new BoxProcess(target, argv, { ...options, output: "pipe" });
  const stdout = collect(running.stdout);
  const stderr = collect(running.stderr);
  running.stdin?.end(options.stdin ?? "");
  const timeoutMs = options.timeoutMs ?? 30_000 * TIMEOUT_FACTOR;
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    running.killGroup();
  }, timeoutMs);
  try {
    const { code, signal } = await running.exited;
    const result = { stdout: stdout(), stderr: stderr() };
    if (late)
      throw new Error(
        `${argv.join(" ")} took longer than ${timeoutMs} ms\n${result.stdout}${result.stderr}`,
      );
    return { code: code ?? 128 + (NUMBER_OF_SIGNAL[signal ?? ""] ?? 0), ...result };
  } finally {
    clearTimeout(timer);
  }
}

function enterArguments(
  target: BoxTarget,
  argv: readonly string[],
  options: ProcessOptions,
): string[] {
  const nsenter = ["nsenter", "--target", `${target.initPid}`];
  const namespaces = ["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup"];
  const folder = options.cwd === undefined ? [] : [`--wdns=${options.cwd}`];
  return [...target.cgroupProcs, "--", ...nsenter, ...namespaces, ...folder, "--", ...argv];
}

function collect(stream: Readable | null): () => string {
  const chunks: Buffer[] = [];
  stream?.on("data", (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString("utf8");
}

function isGone(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ESRCH";
}
