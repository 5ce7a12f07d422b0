/** Notes of the command that has the node's processes in hand, so that there is one, and others find it. */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { CliError } from "../../../present/cli-error.ts";
import { withFileLock } from "../file-lock.ts";
import type { ProcessMark } from "../ledger.ts";
import type { UpPaths } from "../paths.ts";
import { isRunning, markOf } from "../processes.ts";

/** Commands that start or stop agent and runtime; one of them runs at a time. */
type SupervisorCommand = "up" | "stop" | "down";

/** The process that supervises the agent, or is about to stop it. */
interface SupervisorNote {
  readonly supervisor: ProcessMark;
  readonly command: SupervisorCommand;
  readonly agent?: ProcessMark;
}

/** The note on disk; without a supervisor when the last one could not end its agent. */
type WrittenNote = Partial<SupervisorNote>;

/** The file whose lock a command holds while it claims the supervisor. */
export function supervisorLock({ supervisor }: Pick<UpPaths, "supervisor">): string {
  return `${supervisor}.lock`;
}

/** The note of a supervisor that still runs; `undefined` when none does. */
export function readSupervisor(paths: UpPaths): SupervisorNote | undefined {
  // Notes without a command were written by `up` of an earlier version.
  const { supervisor, agent, command = "up" } = readNote(paths);
  if (supervisor === undefined || !isRunning(supervisor)) return undefined;
  return { supervisor, command, ...(agent ? { agent } : {}) };
}

/** Throws `CliError` when another process is stopping the node. */
export function refuseWhileStopping(paths: UpPaths): void {
  const other = readSupervisor(paths);
  if (other !== undefined && other.command !== "up" && other.supervisor.pid !== process.pid)
    throw otherCommand(other);
}

function otherCommand({ command, supervisor }: SupervisorNote): CliError {
  return new CliError(`another nodelet ${command} (process ${supervisor.pid}) is running`, {
    fix: "wait until it has finished, then try again",
  });
}

/** The agent of a supervisor that was killed: it goes on alone. */
export function orphanedAgent(paths: UpPaths): ProcessMark | undefined {
  const { agent } = readNote(paths);
  if (agent === undefined || readSupervisor(paths) !== undefined) return undefined;
  return isRunning(agent) ? agent : undefined;
}

/** The claim of this process to supervise agent and runtime; ends with `using`. */
export interface SupervisorClaim extends Disposable {
  /** The agent that an earlier supervisor has left behind, when it still runs. */
  readonly orphan: ProcessMark | undefined;
  /** Records which process the agent is. */
  note(agent: ProcessMark | undefined): void;
}

/**
 * Claims the node's processes for a command of this process. Throws `CliError` when another process has claimed them.
 */
export function claimSupervisor(
  paths: UpPaths,
  command: SupervisorCommand = "up",
): SupervisorClaim {
  const supervisor = markOf(process.pid);
  if (supervisor === undefined) throw new CliError("failed to find this process in /proc");
  const write = (note: WrittenNote) => {
    writeFileSync(`${paths.supervisor}.new`, `${JSON.stringify(note)}\n`, { mode: 0o600 });
    renameSync(`${paths.supervisor}.new`, paths.supervisor);
  };
  let agent: ProcessMark | undefined;
  const note = (now: ProcessMark | undefined) => {
    agent = now;
    write({ supervisor, command, ...(now ? { agent: now } : {}) });
  };
  const orphan = withFileLock(supervisorLock(paths), () => {
    const other = readSupervisor(paths);
    if (other !== undefined && other.supervisor.pid !== process.pid) throw otherCommand(other);
    const left = orphanedAgent(paths);
    note(left);
    return left;
  });
  return {
    orphan,
    note,
    [Symbol.dispose]: () => {
      // The next supervisor takes over the running agent.
      if (agent !== undefined && isRunning(agent)) write({ agent });
      else rmSync(paths.supervisor, { force: true });
    },
  };
}

function readNote(paths: UpPaths): WrittenNote {
  try {
    return (JSON.parse(readFileSync(paths.supervisor, "utf8")) as WrittenNote | null) ?? {};
  } catch {
    return {};
  }
}
