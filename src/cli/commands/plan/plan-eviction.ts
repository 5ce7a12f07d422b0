import {
  EVICTION_SIGNALS,
  type EvictionSignal,
  isEvictionSignal,
} from "../../../api/node/eviction-signals.ts";
import { identifyPod } from "../../../api/pod-identity.ts";
import { didYouMean } from "../../../api/text/nearest.ts";
import { parseYamlDocument } from "../../../api/text/yaml.ts";
import { type EvictionAmount, readEvictionAmount } from "../../../config/eviction-thresholds.ts";
import { UsageError } from "../../../kit/errors.ts";
import { CliError } from "../../../present/cli-error.ts";
import { renderEviction } from "../../../present/eviction-report.ts";
import { EXIT_USAGE } from "../../../present/exit-codes.ts";
import {
  type EvictionReport,
  evictionSettings,
  previewRecorded,
  type RecordedNode,
  readSummary,
} from "../../../subsystems/eviction/eviction.ts";
import { type CliContext, clientOf } from "../../context.ts";
import { writeAs } from "../../io.ts";
import { readPodFile } from "../../plan/read-pods.ts";
import { type ConfigPlace, loadPlanConfig, readInput, understood } from "./plan-inputs.ts";

export interface PlanEvictionOptions extends ConfigPlace {
  /** `true` when no threshold is named. */
  readonly evict: readonly string[] | true;
  readonly socket?: string;
  /** A recorded node in place of the running agent's: its summary, and its pods. */
  readonly summary?: string;
  readonly filename?: readonly string[];
  readonly output: "tree" | "json" | "yaml";
}

/** Shows what a round of eviction would do with these thresholds, on the agent's node or a recorded one. */
export async function planEvictionOf(
  options: PlanEvictionOptions,
  context: CliContext,
): Promise<void> {
  const { io } = context;
  const hard = (options.evict === true ? [] : options.evict).map(thresholdOf);
  const report =
    options.summary === undefined && options.filename === undefined
      ? await askAgent(hard, options, context)
      : await planRecorded(hard, options, context);
  if (report === undefined) return context.finish(EXIT_USAGE);
  writeAs(options.output, report, () => renderEviction(report, io.paint), io);
}

/** A hard threshold as it was given. */
interface GivenThreshold {
  readonly signal: EvictionSignal;
  readonly text: string;
  readonly amount: EvictionAmount;
}

/** `memory.available=100Mi`, or with the sign that flags have: `memory.available<100Mi`. */
function thresholdOf(given: string): GivenThreshold {
  const [, signal = "", text = ""] = /^([^=<]+)[=<](.+)$/.exec(given) ?? [];
  if (!isEvictionSignal(signal))
    throw new CliError(`plan: --evict ${given}: unknown eviction signal`, {
      exitCode: EXIT_USAGE,
      fix: `${didYouMean(signal, EVICTION_SIGNALS)} Write for example memory.available=100Mi`.trimStart(),
    });
  const reading = readEvictionAmount(text);
  if (reading.ok) return { signal, text, amount: reading.amount };
  throw new CliError(`plan: --evict ${given}: ${reading.error}`, {
    exitCode: EXIT_USAGE,
    fix: "write a quantity such as 100Mi, or a percentage such as 10%",
  });
}

async function askAgent(
  hard: readonly GivenThreshold[],
  options: PlanEvictionOptions,
  context: CliContext,
): Promise<EvictionReport> {
  const query = new URLSearchParams(hard.map(({ signal, text }) => [signal, text]));
  const path = `/nodelet/v1/eviction${query.size === 0 ? "" : `?${query}`}`;
  return await clientOf(context, options).json<EvictionReport>(path);
}

const SUMMARY_FIX =
  "kubectl get --raw /api/v1/nodes/NAME/proxy/stats/summary > summary.json, and --summary summary.json";

/** `undefined` when the configuration is invalid, which is printed. */
async function planRecorded(
  hard: readonly GivenThreshold[],
  options: PlanEvictionOptions,
  { io }: CliContext,
): Promise<EvictionReport | undefined> {
  const { summary, filename } = options;
  if (summary === undefined)
    throw new CliError(
      "plan: --evict with -f requires --summary, a file with the usage of these pods",
      {
        exitCode: EXIT_USAGE,
        fix: SUMMARY_FIX,
      },
    );
  if (filename === undefined)
    throw new CliError("plan: --summary requires -f, a file with the pods of the node", {
      exitCode: EXIT_USAGE,
      fix: "kubectl get pods -A -o yaml > pods.yaml, and -f pods.yaml",
    });
  const config = await loadPlanConfig(options, io);
  if (!config) return undefined;
  return await understood(async () => {
    const node = recordedNode(readInput(summary, io.cwd), summary);
    const pods = filename.flatMap((path) =>
      readPodFile({ path, text: readInput(path, io.cwd) }, node.name).map(identifyPod),
    );
    return previewRecorded({
      settings: evictionSettings(config),
      node,
      pods,
      hard: new Map(hard.map(({ signal, amount }) => [signal, amount])),
    });
  });
}

function recordedNode(text: string, path: string): RecordedNode {
  try {
    return readSummary(parseYamlDocument(text).value);
  } catch (thrown) {
    if (!(thrown instanceof UsageError)) throw thrown;
    throw new UsageError(`${path}: ${thrown.message}`, { cause: thrown });
  }
}
