/** Notes of the `up` that watches over the agent, so that there is one, and other commands find it. */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { CliError } from "../../cli-error.ts";
import type { ProcessMark } from "../ledger.ts";
import type { UpPaths } from "../paths.ts";
import { isRunning, markOf } from "./processes.ts";

/** Who watches over the agent. */
export interface SupervisorNote {
  readonly supervisor: ProcessMark;
  readonly agent?: ProcessMark;
}

/** What is on disk; without a supervisor when the last one could not end its agent. */
type WrittenNote = Partial<SupervisorNote>;

/** The note of a supervisor that still runs; `undefined` when none does. */
export function readSupervisor(paths: UpPaths): SupervisorNote | undefined {
  const { supervisor, agent } = readNote(paths);
  if (supervisor === undefined || !isRunning(supervisor)) return undefined;
  return { supervisor, ...(agent ? { agent } : {}) };
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

/** Claims the place of the supervisor for this process; throws when another one has it. */
export function claimSupervisor(paths: UpPaths): SupervisorClaim {
  const supervisor = markOf(process.pid);
  const other = readSupervisor(paths);
  if (supervisor === undefined) throw new CliError("/proc does not show this process");
  if (other !== undefined && other.supervisor.pid !== process.pid) {
    throw new CliError(`another nodelet up (process ${other.supervisor.pid}) is running`, {
      fix: "wait until it has finished, then try again",
    });
  }
  const write = (note: WrittenNote) => {
    writeFileSync(`${paths.supervisor}.new`, `${JSON.stringify(note)}\n`, { mode: 0o600 });
    renameSync(`${paths.supervisor}.new`, paths.supervisor);
  };
  const orphan = orphanedAgent(paths);
  let agent = orphan;
  const note = (now: ProcessMark | undefined) => {
    agent = now;
    write({ supervisor, ...(now ? { agent: now } : {}) });
  };
  note(orphan);
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
