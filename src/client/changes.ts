/** The agent's changes as they come. */

import type { NodeChange } from "../present/shapes.ts";
import type { AgentClient } from "./agent-client.ts";

/**
 * Yields everything as it is, `synced`, then every change, until `signal` is aborted or the agent ends.
 * Lines that are no JSON are passed over.
 */
export async function* changesOf(
  client: AgentClient,
  signal: AbortSignal,
): AsyncGenerator<NodeChange> {
  for await (const line of client.lines("/nodelet/v1/changes", signal)) {
    const change = parseChange(line);
    if (change !== undefined) yield change;
  }
}

function parseChange(line: string): NodeChange | undefined {
  try {
    return JSON.parse(line) as NodeChange;
  } catch {
    return undefined;
  }
}
