import { type Command, Option } from "commander";
import type { DecisionRecord } from "../../api/decisions.ts";
import type { AgentClient } from "../../client/agent-client.ts";
import { readDecisions } from "../../client/decisions.ts";
import { type PodReference, parsePodReference } from "../../client/pick-pod.ts";
import { type PodHistory, requestPodHistory } from "../../client/pod-history.ts";
import { CliError } from "../../present/cli-error.ts";
import { EXIT_NOT_FOUND, EXIT_USAGE } from "../../present/exit-codes.ts";
import type { DecisionList, Overview, StateProblems } from "../../present/shapes.ts";
import type { Paint } from "../../present/text.ts";
import { renderHistory } from "../../present/why/history.ts";
import {
  agentSteps,
  nodeSteps,
  renderNodeHistory,
  renderNodeWhy,
  renderRestarts,
} from "../../present/why/node-why.ts";
import { stepsOf } from "../../present/why/off-node.ts";
import { describeDecision } from "../../present/why/why.ts";
import { type CliContext, clientOf } from "../context.ts";
import { type Io, writeAs } from "../io.ts";
import { askOrRead, DEFAULT_ROOTS, isNoAgent, noAgentNote } from "./ask-or-read.ts";
import { type PodOptions, withPodOptions } from "./options/pod-options.ts";

interface WhyOptions extends PodOptions {
  readonly node?: true;
  readonly agent?: true;
  readonly output?: "json" | "yaml";
  readonly rootDir?: string;
}

/** Maximum number of decisions shown. */
const LIMIT = 500;
/** The same when only part of what is read is about the pod. */
const DISK_LIMIT = 100_000;
const USUAL_COLUMNS = 100;
const MAX_COLUMNS = 120;
/** `nodelet why`. */
export function addWhyCommand(program: Command, context: CliContext): void {
  const command = program
    .command("why")
    .summary("explain what happened to a pod, or what is wrong with the node")
    .description(
      "Shows what the agent decided about a pod and why, in order, with the outcome of each decision. " +
        "When the agent is not running, the journal is read from disk. With --node it shows when the agent was started and stopped, why the node " +
        "is not ready, and which of the agent's own files are damaged. With --agent it shows the agent's starts and ends only.",
    )
    .argument("[pod]", "name, pod/name or namespace/name")
    .option("--node", "show problems of the node and of the agent's own files")
    .option("--agent", "show when the agent was started, how it ended and why")
    .addOption(new Option("-o, --output <form>", "output format").choices(["json", "yaml"]))
    .option("--root-dir <folder>", "root folder of an agent that is not running");
  withPodOptions(command).action(async (reference: string | undefined, options: WhyOptions) => {
    const subjects = [reference, options.node, options.agent].filter((each) => each !== undefined);
    if (subjects.length !== 1) {
      throw new CliError("why: give a pod, or --node, or --agent", {
        exitCode: EXIT_USAGE,
        fix: "nodelet why <pod>, nodelet why --node, or nodelet why --agent",
      });
    }
    if (reference !== undefined) await why(reference, options, context);
    else await (options.agent ? whyAgent(options, context) : whyNode(options, context));
  });
}

async function whyNode(options: WhyOptions, context: CliContext): Promise<void> {
  const { rootDir } = options;
  if (rootDir !== undefined) {
    if (!(await whyStoppedNode([rootDir], options, context))) context.finish(EXIT_NOT_FOUND);
    return;
  }
  try {
    await whyRunningNode(options, context);
  } catch (thrown) {
    if (!isNoAgent(thrown) || !(await whyStoppedNode(DEFAULT_ROOTS, options, context)))
      throw thrown;
  }
}

/** The agent's starts and ends: as the agent reports them, or from its journal when none runs. */
async function whyAgent(options: WhyOptions, context: CliContext): Promise<void> {
  const { io } = context;
  const decisions = await askOrRead(options, io, {
    ask: async () => {
      const client = clientOf(context, options);
      const { node } = await client.json<Overview>("/nodelet/v1/overview");
      return await requestNodeDecisions(client, node);
    },
    read: (roots) => readDecisions(roots, DISK_LIMIT),
    what: "journal",
  });
  const history = agentSteps(decisions);
  if (history.length === 0) {
    throw new CliError("the journal has no start of an agent", {
      exitCode: EXIT_NOT_FOUND,
      fix: "name the agent's root folder with --root-dir",
    });
  }
  const lines = () => [
    ...renderRestarts(decisions, io.now()),
    ...renderNodeHistory(history, viewOf(io)),
  ];
  writeAs(options.output, { history }, lines, io);
}

async function requestNodeDecisions(
  client: AgentClient,
  node: string,
): Promise<readonly DecisionRecord[]> {
  const query = new URLSearchParams({ name: node, limit: String(LIMIT) });
  return (await client.json<DecisionList>(`/nodelet/v1/decisions?${query}`)).items;
}

async function whyRunningNode(options: WhyOptions, context: CliContext): Promise<void> {
  const { io } = context;
  const client = clientOf(context, options);
  const overview = await client.json<Overview>("/nodelet/v1/overview");
  const { items } = await client.json<StateProblems>("/nodelet/v1/state-files");
  const { node, ready, why: reason, conditions } = overview;
  const history = nodeSteps(await requestNodeDecisions(client, node));
  const value = { node, ready, why: reason, conditions, stateFiles: items, history };
  const view = viewOf(io);
  const lines = () => [
    ...renderNodeWhy(overview, items, view),
    ...renderNodeHistory(history, view),
  ];
  writeAs(options.output, value, lines, io);
}

/** Prints the node's decisions in the journals below these root folders; returns whether there are any. */
async function whyStoppedNode(
  roots: readonly string[],
  options: WhyOptions,
  { io }: CliContext,
): Promise<boolean> {
  const history = nodeSteps(await readDecisions(roots, DISK_LIMIT));
  if (history.length === 0) return false;
  io.stderr.write(noAgentNote("journal"));
  writeAs(options.output, { history }, () => renderNodeHistory(history, viewOf(io)), io);
  return true;
}

function viewOf({ stdout, paint }: Io): { readonly columns: number; readonly paint: Paint } {
  return { columns: Math.min(stdout.columns ?? USUAL_COLUMNS, MAX_COLUMNS), paint };
}

async function why(text: string, options: WhyOptions, context: CliContext): Promise<void> {
  const { io } = context;
  const reference = parsePodReference(text, options.namespace);
  const found = await askOrRead(options, io, {
    ask: () => requestPodHistory(reference, clientOf(context, options), LIMIT),
    read: (roots) => findOnDisk(reference, roots),
    what: "journal",
  });
  const decisions = found.decisions.map((record) => ({
    ...record,
    text: describeDecision(record),
  }));
  const offNode = found.isOffNode ? { offNode: found.pod?.blocked } : {};
  const lines = () =>
    renderHistory({ ...found, steps: stepsOf(found) }, { ...viewOf(io), now: io.now() });
  const volumes = (found.volumes ?? []).length > 0 ? { volumes: found.volumes } : {};
  const verdicts = (found.verdicts ?? []).length > 0 ? { controlPlane: found.verdicts } : {};
  const value = { pod: found.name, decisions, ...volumes, ...verdicts, ...offNode };
  writeAs(options.output, value, lines, io);
}

async function findOnDisk(reference: PodReference, roots: readonly string[]): Promise<PodHistory> {
  const all = await readDecisions(roots, DISK_LIMIT);
  const exact = `${reference.namespace}/${reference.name}`;
  const names = [...new Set(all.map(({ subject }) => subject.name))];
  // Without an agent the name of the node is unknown, which ends the names of static pods.
  const name = names.includes(exact)
    ? exact
    : onlyOne(names.filter((n) => n.startsWith(`${exact}-`)));
  if (name === undefined) {
    throw new CliError(`the journal has no entries for pod ${exact}`, {
      exitCode: EXIT_NOT_FOUND,
      fix: `searched in ${roots.join(" and ")}`,
    });
  }
  const decisions = all.filter(({ subject }) => subject.name === name).slice(-LIMIT);
  return { name, decisions, warnings: [], pod: undefined, isOffNode: false };
}

function onlyOne(names: readonly string[]): string | undefined {
  return names.length === 1 ? names[0] : undefined;
}
