/** Keeps the agent running: starts it, and again when it ends or is stuck, with growing pauses. */
import { spawn } from "node:child_process";
import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { SOCKET_VARIABLE } from "../../../client/socket.ts";
import { retryDelayMs } from "../../../kit/backoff.ts";
import type { WallMs } from "../../../kit/clock.ts";
import { lastExitLine, lastExitPath } from "../../../node/last-exit.ts";
import { AGENT_MALLOC, agentNodeFlags } from "../../../outside/memory/memory.ts";
import { spokenDuration } from "../../../present/amounts.ts";
import { CliError } from "../../../present/cli-error.ts";
import { EXIT_USAGE } from "../../../present/exit-codes.ts";
import {
  API_FOLDER_VARIABLE,
  API_KUBECONFIG_VARIABLE,
  API_VOLUMES_VARIABLE,
} from "../../../process/own-api.ts";
import { selfCommand } from "../../../process/package-root.ts";
import { searchPath } from "../../../process/programs.ts";
import type { ProcessMark } from "../ledger.ts";
import { endOfLog, logTail } from "../log-tail.ts";
import type { UpPaths } from "../paths.ts";
import { endProcess, isRunning, MAX_LOG_BYTES, markOf, processState } from "../processes.ts";
import { claimSupervisor } from "./supervisor-note.ts";
import { untilStuck } from "./watch-agent.ts";

interface SupervisorOptions {
  readonly paths: UpPaths;
  /** Flags for the agent beside those that follow from the paths. */
  readonly agentFlags: readonly string[];
  /** Resolves with flags that come before those, as soon as the agent may start. */
  readonly moreFlags?: (leave: AbortSignal) => Promise<readonly string[]>;
  readonly print: (text: string) => void;
}

const BACKOFF = { initialMs: 1_000, maxMs: 60_000 };
/** An agent that ran this long is trusted again. */
const STEADY_MS = 5 * 60_000;
/** How long the agent may take to leave; it has only to close its files. */
const LEAVE_MS = 15_000;
/** Interval of checks whether an agent that is not our child still runs. */
const ADOPTED_POLL_MS = 500;
/** Pauses between two attempts to end an agent that not even SIGKILL ends. */
const STUCK_BACKOFF = { initialMs: 5_000, maxMs: 60_000 };

/**
 * Keeps an agent running until `leave` is aborted, then has it leave; pods keep running. An agent that an earlier
 * supervisor left behind is taken over as it is; one that is stopped or stuck is replaced. Rejects with
 * `CliError` when the agent rejected its configuration, which no restart can cure.
 */
export async function superviseAgent(
  options: SupervisorOptions,
  leave: AbortSignal,
): Promise<void> {
  const { paths, print } = options;
  using claim = claimSupervisor(paths);
  let next: RunningAgent | undefined = claim.orphan && adopt(claim.orphan);
  if (claim.orphan) {
    print(
      `agent is already running (process ${claim.orphan.pid}); supervising it from now on; ` +
        "flags take effect when it is restarted",
    );
  }
  for (let failures = 0; !leave.aborted; ) {
    const began = performance.now();
    const logAt = endOfLog(paths.agentLog);
    const more = next === undefined ? ((await options.moreFlags?.(leave)) ?? []) : [];
    if (leave.aborted) return;
    const agent: RunningAgent = next ?? start(options, more);
    next = undefined;
    claim.note(agent.mark);
    const end = await attend(agent, options, leave);
    if (leave.aborted) return;
    if (end.code === EXIT_USAGE) {
      throw new CliError("the agent rejected its configuration", {
        exitCode: EXIT_USAGE,
        fix: logTail(paths.agentLog, logAt),
      });
    }
    noteExit(paths.agentRoot, end);
    failures = performance.now() - began > STEADY_MS ? 1 : failures + 1;
    const pauseMs = retryDelayMs(failures, BACKOFF);
    const last = logTail(paths.agentLog, logAt).split("\n").at(-1) ?? "";
    print(`the agent exited${howItEnded(end)}${last === "" ? "" : `: ${last}`}`);
    print(
      `pods keep running; restarting it in ${spokenDuration(pauseMs)} (log: ${paths.agentLog})`,
    );
    await sleep(pauseMs, undefined, { signal: leave }).catch(() => {});
  }
}

/** How a process ended; unknown for one that is not our child. */
interface AgentEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** For `nodelet why --agent`, in systemd's words. */
function noteExit(rootFolder: string, { code, signal }: AgentEnd): void {
  if (code === 0 || (code === null && signal === null)) return;
  const how =
    signal === null
      ? { result: "exit-code", code: "exited", status: String(code) }
      : { result: "signal", code: "killed", status: signal.replace(/^SIG/, "") };
  try {
    const line = lastExitLine({ ...how, atMs: Date.now() as WallMs });
    writeFileSync(lastExitPath(rootFolder), line, { mode: 0o600 });
  } catch {
    // The journal only says then that it ended.
  }
}

function howItEnded({ code, signal }: AgentEnd): string {
  if (signal !== null) return ` with ${signal}`;
  return code === null ? "" : ` with code ${code}`;
}

/** An agent that runs, ours or taken over. */
interface RunningAgent {
  /** Undefined when it ended before it could be observed. */
  readonly mark: ProcessMark | undefined;
  readonly ended: Promise<AgentEnd>;
}

function start(options: SupervisorOptions, more: readonly string[]): RunningAgent {
  const { paths } = options;
  boundLog(paths.agentLog);
  const log = openSync(paths.agentLog, "a", 0o640);
  const [program, ...args] = agentCommand(options, more);
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
  return { mark: child.pid === undefined ? undefined : markOf(child.pid), ended };
}

function adopt(mark: ProcessMark): RunningAgent {
  const untilGone = async (): Promise<AgentEnd> => {
    while (isRunning(mark)) await sleep(ADOPTED_POLL_MS, undefined, { ref: false });
    return { code: null, signal: null };
  };
  return { mark, ended: untilGone() };
}

/**
 * Waits for the agent's end, and brings it about when `leave` is aborted or the agent is stuck. When
 * leaving, one that cannot be ended is left behind.
 */
async function attend(
  { mark, ended }: RunningAgent,
  { paths, print }: SupervisorOptions,
  leave: AbortSignal,
): Promise<AgentEnd> {
  if (mark === undefined) return await ended;
  const over = new AbortController();
  const signal = AbortSignal.any([leave, over.signal]);
  const bound = setInterval(() => boundLog(paths.agentLog), 60_000);
  const why = untilStuck(paths.agentSocket, mark, signal);
  try {
    const first = await Promise.race([ended, why]);
    if (typeof first === "object") return first;
    if (first !== undefined) {
      print(`${first}; replacing it, pods keep running (log: ${paths.agentLog})`);
      await endForSure(mark, print, leave);
    }
    if (!leave.aborted || (await endProcess(mark, LEAVE_MS))) return await ended;
    print(`process ${mark.pid} cannot be killed now and is left running`);
    return { code: null, signal: null };
  } finally {
    over.abort();
    clearInterval(bound);
  }
}

/**
 * Ends the agent, however long that takes: as long as it is there it holds its ports and files, and the next
 * one could not start.
 */
async function endForSure(
  mark: ProcessMark,
  print: (text: string) => void,
  leave: AbortSignal,
): Promise<void> {
  for (let tries = 1; !(await endProcess(mark, LEAVE_MS)); tries += 1) {
    const pauseMs = retryDelayMs(tries, STUCK_BACKOFF);
    print(
      `process ${mark.pid} does not exit after SIGKILL (state ${processState(mark.pid) ?? "unknown"}); ` +
        `starting the next agent once it is gone, checking again in ${spokenDuration(pauseMs)}`,
    );
    await sleep(pauseMs, undefined, { signal: leave }).catch(() => {});
    if (leave.aborted) return;
  }
}

/** The agent as a command: the same program that we are, with the heap of something that runs for months. */
function agentCommand(
  { paths, agentFlags }: SupervisorOptions,
  more: readonly string[],
): readonly [string, ...string[]] {
  const places = [`--config=${paths.config}`, `--root-dir=${paths.agentRoot}`];
  return selfCommand(agentNodeFlags(process.env["NODE_OPTIONS"]), [
    "run",
    ...places,
    // First, so that the user's own choice counts.
    `--cert-dir=${paths.agentRoot}/pki`,
    "--page",
    ...more,
    ...agentFlags,
  ]);
}

function agentEnvironment(paths: UpPaths): Record<string, string> {
  return {
    PATH: searchPath(),
    HOME: "/root",
    ...AGENT_MALLOC,
    NODELET_INVOKED_AS: "nodelet",
    [SOCKET_VARIABLE]: paths.agentSocket,
    [API_FOLDER_VARIABLE]: paths.api,
    [API_KUBECONFIG_VARIABLE]: paths.kubeconfig,
    [API_VOLUMES_VARIABLE]: paths.volumes,
  };
}

/** Keeps a log that is open for appending within its bound: the old one is copied away, then cut. */
function boundLog(path: string): void {
  if (!existsSync(path) || statSync(path).size <= MAX_LOG_BYTES) return;
  copyFileSync(path, `${path}.1`);
  truncateSync(path);
}
