import type { EvictionReport, ReportedSignal } from "../../subsystems/eviction/eviction.ts";
import { CliError } from "../cli-error.ts";
import type { AgentClient } from "./agent-client.ts";

/** Eviction thresholds beside what is left, or why they are missing. */
export type RequestedSignals =
  | { readonly kind: "signals"; readonly signals: readonly ReportedSignal[] }
  | { readonly kind: "missing"; readonly why: string };

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
