/** Runs kubeadm: its output goes to a log, line by line, and its steps to whoever shows them. */
import { spawn } from "node:child_process";
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { programPath } from "../../process/package-root.ts";
import { searchPath } from "../../process/programs.ts";
import { linkTarget } from "../up/command-link.ts";
import type { ProcessMark } from "../up/ledger.ts";
import { endProcess, isRunning, markOf } from "../up/processes.ts";
import { type KubeadmStep, kubeadmStep } from "./kubeadm-output.ts";

/** One call of kubeadm. */
interface KubeadmRun {
  readonly kubeadm: string;
  /** Words after the program. No secrets: every user of the machine can read them. */
  readonly argv: readonly string[];
  /** Folder with a `kubelet` that is this program; kubeadm asks it for its version. */
  readonly programs: string;
  /** The release whose kubelet it is to behave like; undefined for its own. */
  readonly compat: string | undefined;
  /** Both outputs are appended here. */
  readonly log: string;
  /** Where its process is noted while it runs. */
  readonly running: string;
  readonly onStep?: (step: KubeadmStep) => void;
  /** Ends kubeadm. */
  readonly signal: AbortSignal;
}

/** How kubeadm ended, and what it printed last. */
interface KubeadmResult {
  readonly ok: boolean;
  readonly output: string;
}

const KEPT_LINES = 400;
const END_MS = 10_000;

/**
 * Ends a kubeadm whose command was killed: it would go on with what the next command takes back or begins again. `settle` puts
 * right what it left, before the note of it is gone.
 */
export async function endOrphanedKubeadm(
  running: string,
  settle: () => void = () => {},
): Promise<void> {
  if (!existsSync(running)) return;
  const mark = readMark(running);
  if (mark !== undefined && isRunning(mark)) await endProcess(mark, END_MS);
  settle();
  rmSync(running, { force: true });
}

/** A note that was cut off is of a process that has only just begun. */
function readMark(running: string): ProcessMark | undefined {
  try {
    return JSON.parse(readFileSync(running, "utf8")) as ProcessMark;
  } catch {
    return undefined;
  }
}

/** Runs it to its end. Rejects when the program cannot be started. */
export async function runKubeadm(run: KubeadmRun): Promise<KubeadmResult> {
  const { kubeadm, argv, programs, compat, log, running, onStep = () => {}, signal } = run;
  await endOrphanedKubeadm(running);
  placeKubelet(programs, compat);
  const file = openSync(log, "a", 0o640);
  const lines: string[] = [];
  try {
    const child = spawn(kubeadm, argv, {
      cwd: "/",
      env: { PATH: `${programs}:${searchPath()}`, HOME: "/root" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const mark = child.pid === undefined ? undefined : markOf(child.pid);
    if (mark !== undefined) writeFileSync(running, JSON.stringify(mark), { mode: 0o600 });
    const end = () => child.kill("SIGTERM");
    signal.addEventListener("abort", end, { once: true });
    const both = new PassThrough();
    for (const stream of [child.stdout, child.stderr]) stream.pipe(both, { end: false });
    const reading = (async () => {
      for await (const line of createInterface(both)) {
        writeSync(file, `${line}\n`);
        lines.push(line);
        if (lines.length > KEPT_LINES) lines.shift();
        const step = kubeadmStep(line);
        if (step !== undefined) onStep(step);
      }
    })();
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    }).finally(() => {
      signal.removeEventListener("abort", end);
      both.end();
    });
    await reading;
    return { ok: code === 0, output: lines.join("\n") };
  } finally {
    closeSync(file);
    rmSync(running, { force: true });
  }
}

function placeKubelet(programs: string, compat: string | undefined): void {
  const path = join(programs, "kubelet");
  if (compat === undefined && linkTarget(path) === programPath()) return;
  mkdirSync(programs, { recursive: true, mode: 0o755 });
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) rmSync(path);
  if (compat === undefined) symlinkSync(programPath(), path);
  else writeFileSync(path, asOther(compat), { mode: 0o755 });
}

/** A script that is the program with another release's behaviour. */
function asOther(compat: string): string {
  const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;
  return `#!/bin/sh\nexec ${quoted(programPath())} run ${quoted(`--compat=${compat}`)} "$@"\n`;
}
