/** The node as it changes, from the agent's socket. */
import { setTimeout as sleep } from "node:timers/promises";
import { CliError } from "../cli-error.ts";
import { type NodeState, UNKNOWN_NODE } from "../up/viewers.ts";
import type { AgentClient } from "./agent-client.ts";

const RETRY_MS = 300;

/** Tells `onState` of the node until `signal` is aborted; an agent that is away is waited for. */
export async function followNode(
  client: AgentClient,
  onState: (state: NodeState) => void,
  signal: AbortSignal,
): Promise<void> {
  let last = UNKNOWN_NODE;
  while (!signal.aborted) {
    try {
      await client.json("/nodelet/v1/overview");
    } catch (thrown) {
      if (!(thrown instanceof CliError)) throw thrown;
      last = { ...last, node: undefined };
      onState(last);
    }
    await sleep(RETRY_MS, undefined, { signal }).catch(() => {});
  }
}
