import { resolve } from "node:path";
import type { Command } from "commander";
import { AgentClient } from "./client/agent-client.ts";
import type { Io } from "./io.ts";
import { DEFAULT_SOCKET } from "./up/paths.ts";

/** What commands share. */
export interface CliContext {
  readonly io: Io;
  /** From the first call on, SIGINT and SIGTERM abort the signal instead of ending the process. */
  readonly onInterrupt: () => AbortSignal;
  /** Keeps the exit code of the command that ran. */
  readonly finish: (exitCode: number) => void;
}

/** Names the environment variable that stands for `--socket`. */
export const SOCKET_VARIABLE = "NODELET_SOCKET";

/** Adds the option that says where the agent listens. */
export function withSocketOption(command: Command): Command {
  return command.option(
    "--socket <path>",
    `the agent's socket (default ${DEFAULT_SOCKET}, or ${SOCKET_VARIABLE})`,
  );
}

/** The agent that the options of a command name. */
export function clientOf(context: CliContext, options: { readonly socket?: string }): AgentClient {
  const chosen = options.socket ?? context.io.env[SOCKET_VARIABLE];
  return new AgentClient(
    chosen === undefined || chosen === "" ? DEFAULT_SOCKET : resolve(context.io.cwd, chosen),
  );
}
