import { CliError } from "../present/cli-error.ts";
import type { RequestedSignals } from "../present/eviction-report.ts";
import type { EvictionReport } from "../subsystems/eviction/eviction.ts";
import type { AgentClient } from "./agent-client.ts";

/** Asks the agent. A failure to measure now must not hide the rest of the description. */
export async function requestSignals(client: AgentClient): Promise<RequestedSignals> {
  try {
    const { signals } = await client.json<EvictionReport>("/nodelet/v1/eviction");
    return { kind: "signals", signals };
  } catch (thrown) {
    if (!(thrown instanceof CliError)) throw thrown;
    return { kind: "missing", why: thrown.message };
  }
}
