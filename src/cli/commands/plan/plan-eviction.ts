import { didYouMean } from "../../../config/nearest.ts";
import {
  EVICTION_SIGNALS,
  isEvictionSignal,
} from "../../../config/validation/eviction-thresholds.ts";
import type { EvictionReport } from "../../../subsystems/eviction/eviction.ts";
import { CliError } from "../../cli-error.ts";
import { type CliContext, clientOf } from "../../context.ts";
import { EXIT_OK, EXIT_USAGE } from "../../exit-codes.ts";
import { writeLines } from "../../io.ts";
import { renderEviction } from "../../render/eviction-report.ts";
import { encode } from "../../render/output.ts";

/** What `nodelet plan --evict` is told. */
export interface PlanEvictionOptions {
  /** `true` when no threshold is named. */
  readonly evict: readonly string[] | true;
  readonly socket?: string;
  readonly output: "tree" | "json" | "yaml";
}

/** Asks the agent what a round of eviction would do with these thresholds, and shows it. */
export async function planEvictionOf(
  { evict, output, ...options }: PlanEvictionOptions,
  context: CliContext,
): Promise<number> {
  const query = new URLSearchParams((evict === true ? [] : evict).map(thresholdOf));
  const path = `/nodelet/v1/eviction${query.size === 0 ? "" : `?${query}`}`;
  const report = await clientOf(context, options).json<EvictionReport>(path);
  const { io } = context;
  if (output === "tree") writeLines(io.stdout, renderEviction(report, io.paint));
  else io.stdout.write(encode(report, output));
  return EXIT_OK;
}

/** `memory.available=100Mi`, or with the sign that flags have: `memory.available<100Mi`. */
function thresholdOf(text: string): [signal: string, amount: string] {
  const [, signal = "", amount = ""] = /^([^=<]+)[=<](.+)$/.exec(text) ?? [];
  if (isEvictionSignal(signal)) return [signal, amount];
  throw new CliError(`plan: --evict ${text} names no eviction signal`, {
    exitCode: EXIT_USAGE,
    fix: `write for instance memory.available=100Mi ${didYouMean(signal, EVICTION_SIGNALS)}`.trimEnd(),
  });
}
