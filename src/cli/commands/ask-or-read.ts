import { DEFAULT_FLAGS } from "../../config/flags/kubelet-flags.ts";
import { CliError } from "../../present/cli-error.ts";
import { EXIT_NO_AGENT } from "../../present/exit-codes.ts";
import type { Io } from "../io.ts";
import { DEFAULT_PLACES, upPaths } from "../up/paths.ts";

/** Root folders of agents: of the one that `up` starts, and of one that is started with `run`. */
export const DEFAULT_ROOTS: readonly string[] = [
  upPaths(DEFAULT_PLACES).agentRoot,
  DEFAULT_FLAGS.rootDir,
];

interface Sources<T> {
  /** Requests it from the agent. */
  readonly ask: () => Promise<T>;
  /** Reads it from disk, below the root folders of agents. */
  readonly read: (roots: readonly string[]) => Promise<T>;
  /** Name of what is on disk. */
  readonly what: "journal" | "history";
}

/** Asks the agent; reads the disk when no agent runs, or when `rootDir` names where. */
export async function askOrRead<T>(
  { rootDir }: { readonly rootDir?: string },
  { stderr }: Io,
  { ask, read, what }: Sources<T>,
): Promise<T> {
  if (rootDir !== undefined) return await read([rootDir]);
  try {
    return await ask();
  } catch (thrown) {
    if (!isNoAgent(thrown)) throw thrown;
    stderr.write(noAgentNote(what));
    return await read(DEFAULT_ROOTS);
  }
}

/** Whether the error says that no agent runs. */
export function isNoAgent(thrown: unknown): boolean {
  return thrown instanceof CliError && thrown.exitCode === EXIT_NO_AGENT;
}

/** Note above output that was read from disk. */
export function noAgentNote(what: Sources<unknown>["what"]): string {
  return `nodelet: the agent is not running; showing its ${what} on disk\n`;
}
