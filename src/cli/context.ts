import { resolve } from "node:path";
import type { Command } from "commander";
import { AgentClient } from "../client/agent-client.ts";
import { agentSocket, DEFAULT_SOCKET, SOCKET_VARIABLE } from "../client/socket.ts";
import type { Io } from "./io.ts";

/** Streams and signals of a command. */
export interface CommandContext {
  readonly io: Io;
  /** From the first call on, SIGINT and SIGTERM abort the signal instead of ending the process. */
  readonly onInterrupt: () => AbortSignal;
}

/** Context of the tree of commands. */
export interface CliContext extends CommandContext {
  /** Keeps the exit code of the command that ran. */
  readonly finish: (exitCode: number) => void;
}

/** Adds the option for the agent's socket. */
export function withSocketOption(command: Command): Command {
  return command.option(
    "--socket <path>",
    `the agent's socket (default ${DEFAULT_SOCKET}, or ${SOCKET_VARIABLE})`,
  );
}

/** The agent that the options of a command name. */
export function clientOf(context: CliContext, options: { readonly socket?: string }): AgentClient {
  const path = options.socket ?? agentSocket(context.io.env);
  return new AgentClient(resolve(context.io.cwd, path));
}
