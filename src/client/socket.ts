// pure

/** The default socket of the agent. */
export const DEFAULT_SOCKET = "/run/nodelet/agent.sock";

/** Names the environment variable that stands for another one, for the agent and for commands. */
export const SOCKET_VARIABLE = "NODELET_SOCKET";

/** The agent's socket as the environment has it. */
export function agentSocket(env: Readonly<Record<string, string | undefined>>): string {
  const chosen = env[SOCKET_VARIABLE];
  return chosen === undefined || chosen === "" ? DEFAULT_SOCKET : chosen;
}

const OTHER_NAMES = 8;

/**
 * Alternative sockets of an agent while another one holds its socket, in this order: `agent-2.sock` and so on
 * beside it. None for a socket that the environment names, because its user expects the agent there.
 */
export function otherAgentSockets(
  env: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  if (agentSocket(env) !== DEFAULT_SOCKET) return [];
  return Array.from({ length: OTHER_NAMES }, (_, i) =>
    DEFAULT_SOCKET.replace(/\.sock$/, `-${i + 2}.sock`),
  );
}
