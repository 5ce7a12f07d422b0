/** Keeps the agent running: starts it, and again when it ends by itself, with growing pauses. */
import { spawn } from "node:child_process";
import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readFileSync,
  statSync,
  truncateSync,
} from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { retryDelayMs } from "../../kit/backoff.ts";
import { CliError } from "../cli-error.ts";
import { EXIT_USAGE } from "../exit-codes.ts";
import { agentNodeFlags } from "../node-flags.ts";
import { API_FOLDER_VARIABLE, API_KUBECONFIG_VARIABLE } from "../own-api.ts";
import { spokenDuration } from "../render/amounts.ts";
import { SOCKET_VARIABLE } from "../socket.ts";
import type { UpPaths } from "./paths.ts";
import { endProcess, MAX_LOG_BYTES, markOf } from "./processes.ts";
import { searchPath } from "./programs.ts";
import { claimSupervisor, type SupervisorClaim } from "./supervisor-note.ts";

/** What the supervisor is told. */
export interface SupervisorOptions {
  readonly paths: UpPaths;
  /** Flags for the agent beside those that follow from the paths. */
  readonly agentFlags: readonly string[];
  readonly say: (text: string) => void;
}

const BACKOFF = { initialMs: 1_000, maxMs: 60_000 };
/** An agent that ran this long is trusted again. */
const STEADY_MS = 5 * 60_000;
/** How long the agent may take to leave; it has only to close its files. */
const LEAVE_MS = 15_000;
const TAIL_LINES = 8;
const TAIL_BYTES = 8 * 1024;

/**
 * Runs the agent until `leave` is aborted, then has it leave; pods run on. Rejects with `CliError` when the
 * agent refuses its configuration, which no restart can cure.
 */
export async function superviseAgent(
  options: SupervisorOptions,
  leave: AbortSignal,
): Promise<void> {
  const { paths, say } = options;
  using claim = claimSupervisor(paths);
  for (let failures = 0; !leave.aborted; ) {
    const began = performance.now();
    const end = await runOnce(options, claim, leave);
    if (leave.aborted) return;
    if (end.code === EXIT_USAGE) {
      throw new CliError("the agent refuses its configuration", {
        exitCode: EXIT_USAGE,
        fix: logTail(paths),
      });
    }
    failures = performance.now() - began > STEADY_MS ? 1 : failures + 1;
    const pauseMs = retryDelayMs(failures, BACKOFF);
    const how = end.signal ?? `code ${end.code}`;
    const last = logTail(paths).split("\n").at(-1) ?? "";
    say(`the agent ended with ${how}: ${last}`);
    say(`pods run on; it is started again in ${spokenDuration(pauseMs)} (log: ${paths.agentLog})`);
    await sleep(pauseMs, undefined, { signal: leave }).catch(() => {});
  }
}

interface AgentEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

async function runOnce(
  options: SupervisorOptions,
  claim: SupervisorClaim,
  leave: AbortSignal,
): Promise<AgentEnd> {
  const { paths } = options;
  boundLog(paths.agentLog);
  const log = openSync(paths.agentLog, "a", 0o640);
  const [program, ...args] = agentCommand(options);
  const child = spawn(program, args, {
    // A session of its own: ^C in our terminal is ours to pass on.
    detached: true,
    cwd: "/",
    env: agentEnvironment(paths),
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  const ended = new Promise<AgentEnd>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
  const mark = child.pid === undefined ? undefined : markOf(child.pid);
  claim.note(mark);
  const onLeave = () => {
    if (mark !== undefined) void endProcess(mark, LEAVE_MS);
  };
  leave.addEventListener("abort", onLeave, { once: true });
  if (leave.aborted) onLeave();
  const bound = setInterval(() => boundLog(paths.agentLog), 60_000);
  try {
    return await ended;
  } finally {
    clearInterval(bound);
    leave.removeEventListener("abort", onLeave);
  }
}

/** The agent as a command: the same program that we are, with the heap of something that runs for months. */
function agentCommand({ paths, agentFlags }: SupervisorOptions): readonly [string, ...string[]] {
  const program = process.argv[1] ?? "";
  return [
    process.execPath,
    ...agentNodeFlags(process.env["NODE_OPTIONS"]),
    program,
    "run",
    `--config=${paths.config}`,
    `--root-dir=${paths.agentRoot}`,
    ...agentFlags,
  ];
}

function agentEnvironment(paths: UpPaths): Record<string, string> {
  return {
    PATH: searchPath(),
    HOME: "/root",
    MALLOC_ARENA_MAX: "1",
    MALLOC_TRIM_THRESHOLD_: "1048576",
    NODELET_INVOKED_AS: "nodelet",
    [SOCKET_VARIABLE]: paths.agentSocket,
    [API_FOLDER_VARIABLE]: paths.api,
    [API_KUBECONFIG_VARIABLE]: paths.kubeconfig,
  };
}

/** The last lines of the agent's log. */
export function logTail(paths: UpPaths): string {
  if (!existsSync(paths.agentLog)) return "";
  const text = readFileSync(paths.agentLog, "utf8").slice(-TAIL_BYTES);
  return text.trim().split("\n").slice(-TAIL_LINES).join("\n");
}

/** Keeps a log that is open for appending within its bound: the old one is copied away, then cut. */
function boundLog(path: string): void {
  if (!existsSync(path) || statSync(path).size <= MAX_LOG_BYTES) return;
  copyFileSync(path, `${path}.1`);
  truncateSync(path);
}
