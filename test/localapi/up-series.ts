// The crash series of `nodelet up`, to be run inside a box: up-series.ts ROUNDS. Its last line is the figures as JSON;
// `up` is left running.
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type CrashSubject, runCrashSeries } from "./crash-series.ts";

const PROGRAM = join(resolve(import.meta.dirname, "../.."), "bin/nodelet");
const NOTE = "/run/nodelet/up.json";
const LEDGER = "/var/lib/nodelet/made.json";
const LOG = "/run/tmp/up.log";
/** So often the runtime dies with the rest. */
const RUNTIME_EVERY = 5;
const POLL_MS = 5;

class Up implements CrashSubject {
  readonly kubeconfig = "/etc/nodelet/kubeconfig";
  #child: ChildProcess | undefined;

  async start(): Promise<void> {
    const log = openSync(LOG, "a");
    this.#child = spawn(PROGRAM, ["up"], { detached: true, stdio: ["ignore", log, log] });
    closeSync(log);
  }

  async kill(round: number): Promise<void> {
    const { supervisor, agent } = JSON.parse(readFileSync(NOTE, "utf8"));
    const runtime =
      round % RUNTIME_EVERY === RUNTIME_EVERY - 1
        ? JSON.parse(readFileSync(LEDGER, "utf8")).runtime?.process
        : undefined;
    const pids = [agent, supervisor, ...(runtime ? [runtime] : [])].map(({ pid }) => Number(pid));
    for (const pid of pids) process.kill(pid, "SIGKILL");
    while (pids.some(runs)) await sleep(POLL_MS);
  }

  assertRunning(): void {
    const { exitCode = null, signalCode = null } = this.#child ?? {};
    if (exitCode !== null || signalCode !== null)
      throw new Error(`up has ended: ${exitCode ?? signalCode}\n${readFileSync(LOG, "utf8")}`);
  }
}

function runs(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) !== "Z";
  } catch {
    return false;
  }
}

const figures = await runCrashSeries(Number(process.argv[2]), new Up());
console.log(JSON.stringify(figures));
process.exit(0);
