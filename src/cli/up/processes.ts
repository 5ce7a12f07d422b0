/** Processes by a mark that cannot be mistaken, as far as starting and ending them goes. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync, renameSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { ProcessMark } from "./ledger.ts";

/** Larger logs start over; one old one is kept. */
export const MAX_LOG_BYTES = 10 * 1024 * 1024;

/** Fields of /proc/<pid>/stat after the program name; empty when there is no such process. */
function statFields(pid: number): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}

/** Clock ticks since boot when the process began; `undefined` when there is none, or only its shell. */
function startTicks(pid: number): number | undefined {
  const fields = statFields(pid);
  return fields.length === 0 || fields[0] === "Z" ? undefined : Number(fields[19]);
}

/** The kernel's letter for what the process does: R, S, D, T …; `undefined` when there is none. */
export function processState(pid: number): string | undefined {
  return statFields(pid)[0];
}

/** The mark of a running process. */
export function markOf(pid: number): ProcessMark | undefined {
  const ticks = startTicks(pid);
  return ticks === undefined ? undefined : { pid, startTicks: ticks };
}

/** Whether this very process still runs. */
export function isRunning(mark: ProcessMark): boolean {
  return startTicks(mark.pid) === mark.startTicks;
}

/** Sends a signal unless the process is gone. */
function signalProcess(mark: ProcessMark, signal: NodeJS.Signals): void {
  if (!isRunning(mark)) return;
  try {
    process.kill(mark.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

const POLL_MS = 50;

/** Waits until the process is gone; resolves with whether it is. */
export async function awaitEnd(mark: ProcessMark, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (isRunning(mark)) {
    if (performance.now() > deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/** Asks the process to end, then makes it; resolves with whether it is gone. */
export async function endProcess(mark: ProcessMark, timeoutMs: number): Promise<boolean> {
  signalProcess(mark, "SIGTERM");
  // A stopped process handles the signal only when it continues.
  signalProcess(mark, "SIGCONT");
  if (await awaitEnd(mark, timeoutMs)) return true;
  signalProcess(mark, "SIGKILL");
  return await awaitEnd(mark, timeoutMs);
}

/** Arguments of a program that outlives the command. */
interface DetachedProgram {
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  /** Both outputs are appended here. */
  readonly log: string;
}

/** Starts a program in a session of its own, so that neither we nor our terminal take it along. */
export function startDetached({ argv, env, log }: DetachedProgram): ChildProcess {
  if (existsSync(log) && statSync(log).size > MAX_LOG_BYTES) renameSync(log, `${log}.1`);
  const output = openSync(log, "a", 0o640);
  try {
    const [program, ...args] = argv;
    const child = spawn(program, args, {
      detached: true,
      cwd: "/",
      env,
      stdio: ["ignore", output, output],
    });
    child.unref();
    return child;
  } finally {
    closeSync(output);
  }
}
