// pure

/** The agent's socket when nothing else is said. */
export const DEFAULT_SOCKET = "/run/nodelet/agent.sock";

/** Names the environment variable that stands for another one, for the agent and for commands. */
export const SOCKET_VARIABLE = "NODELET_SOCKET";

/** The agent's socket as the environment has it. */
export function agentSocket(env: Readonly<Record<string, string | undefined>>): string {
  const chosen = env[SOCKET_VARIABLE];
  return chosen === undefined || chosen === "" ? DEFAULT_SOCKET : chosen;
}
