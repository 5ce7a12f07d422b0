/** Notes of the `up` that watches over the agent, so that there is one, and other commands find it. */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { CliError } from "../cli-error.ts";
import type { ProcessMark } from "./ledger.ts";
import type { UpPaths } from "./paths.ts";
import { isRunning, markOf } from "./processes.ts";

/** Who watches over the agent. */
export interface SupervisorNote {
  readonly supervisor: ProcessMark;
  readonly agent?: ProcessMark;
}

/** The note of a supervisor that still runs; `undefined` when none does. */
export function readSupervisor(paths: UpPaths): SupervisorNote | undefined {
  const note = readNote(paths);
  return note !== undefined && isRunning(note.supervisor) ? note : undefined;
}

/** The agent of a supervisor that was killed: it goes on alone. */
export function orphanedAgent(paths: UpPaths): ProcessMark | undefined {
  const note = readNote(paths);
  if (note?.agent === undefined || isRunning(note.supervisor)) return undefined;
  return isRunning(note.agent) ? note.agent : undefined;
}

/** The claim of this process to be the one that looks after agent and runtime; ends with `using`. */
export interface SupervisorClaim extends Disposable {
  /** Says which process the agent is. */
  note(agent: ProcessMark | undefined): void;
}

/** Claims the place of the supervisor for this process; throws when another one has it. */
export function claimSupervisor(paths: UpPaths): SupervisorClaim {
  const supervisor = markOf(process.pid);
  const other = readSupervisor(paths);
  if (supervisor === undefined) throw new CliError("/proc does not show this process");
  if (other !== undefined && other.supervisor.pid !== process.pid) {
    throw new CliError(`another nodelet up (process ${other.supervisor.pid}) is at work`, {
      fix: "wait until it is done, then try again",
    });
  }
  const write = (note: SupervisorNote) => {
    writeFileSync(`${paths.supervisor}.new`, `${JSON.stringify(note)}\n`, { mode: 0o600 });
    renameSync(`${paths.supervisor}.new`, paths.supervisor);
  };
  write({ supervisor });
  return {
    note: (agent) => write({ supervisor, ...(agent ? { agent } : {}) }),
    [Symbol.dispose]: () => rmSync(paths.supervisor, { force: true }),
  };
}

function readNote(paths: UpPaths): SupervisorNote | undefined {
  try {
    return JSON.parse(readFileSync(paths.supervisor, "utf8")) as SupervisorNote;
  } catch {
    return undefined;
  }
}
