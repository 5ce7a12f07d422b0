import { type Command, Option } from "commander";
import type { DecisionRecord } from "../../api/decisions.ts";
import { readDecisions } from "../../client/decisions.ts";
import { type PodReference, parsePodReference } from "../../client/pick-pod.ts";
import { type PodHistory, requestPodHistory } from "../../client/pod-history.ts";
import { DEFAULT_FLAGS } from "../../config/flags/kubelet-flags.ts";
import { CliError } from "../../present/cli-error.ts";
import { EXIT_NO_AGENT, EXIT_NOT_FOUND, EXIT_OK, EXIT_USAGE } from "../../present/exit-codes.ts";
import { encode } from "../../present/output.ts";
import type { DecisionList, Overview, StateProblems } from "../../present/shapes.ts";
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
import { writeLines } from "../io.ts";
import { DEFAULT_PLACES, upPaths } from "../up/paths.ts";
import { type PodOptions, withPodOptions } from "./pod-options.ts";

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
/** Root folders of agents: of the one that `up` starts, and of one that is started with `run`. */
const DEFAULT_ROOTS: readonly string[] = [upPaths(DEFAULT_PLACES).agentRoot, DEFAULT_FLAGS.rootDir];
const FROM_JOURNAL = "nodelet: the agent is not running; showing its journal on disk\n";

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
    const code =
      reference !== undefined
        ? await why(reference, options, context)
        : options.agent
          ? await whyAgent(options, context)
          : await whyNode(options, context);
    context.finish(code);
  });
}

async function whyNode(options: WhyOptions, context: CliContext): Promise<number> {
  if (options.rootDir !== undefined)
    return await whyStoppedNode([options.rootDir], options, context);
  try {
    return await whyRunningNode(options, context);
  } catch (thrown) {
    if (!isNoAgent(thrown)) throw thrown;
    const code = await whyStoppedNode(DEFAULT_ROOTS, options, context);
    if (code !== EXIT_OK) throw thrown;
    return code;
  }
}

/** The agent's starts and ends: of one that runs as it tells them, else from its journal. */
async function whyAgent(options: WhyOptions, context: CliContext): Promise<number> {
  const { io } = context;
  const decisions = await agentDecisions(options, context);
  const history = agentSteps(decisions);
  if (history.length === 0) {
    throw new CliError("the journal has no start of an agent", {
      exitCode: EXIT_NOT_FOUND,
      fix: "name the agent's root folder with --root-dir",
    });
  }
  if (options.output !== undefined) {
    io.stdout.write(encode({ history }, options.output));
    return EXIT_OK;
  }
  const view = { columns: columnsOf(io), paint: io.paint };
  writeLines(io.stdout, [
    ...renderRestarts(decisions, io.now()),
    ...renderNodeHistory(history, view),
  ]);
  return EXIT_OK;
}

async function agentDecisions(
  options: WhyOptions,
  context: CliContext,
): Promise<readonly DecisionRecord[]> {
  if (options.rootDir !== undefined) return await readDecisions([options.rootDir], DISK_LIMIT);
  try {
    const client = clientOf(context, options);
    const { node } = await client.json<Overview>("/nodelet/v1/overview");
    const query = new URLSearchParams({ name: node, limit: String(LIMIT) });
    return (await client.json<DecisionList>(`/nodelet/v1/decisions?${query}`)).items;
  } catch (thrown) {
    if (!isNoAgent(thrown)) throw thrown;
    context.io.stderr.write(FROM_JOURNAL);
    return await readDecisions(
      [upPaths(DEFAULT_PLACES).agentRoot, DEFAULT_FLAGS.rootDir],
      DISK_LIMIT,
    );
  }
}

async function whyRunningNode(options: WhyOptions, context: CliContext): Promise<number> {
  const { io } = context;
  const client = clientOf(context, options);
  const overview = await client.json<Overview>("/nodelet/v1/overview");
  const { items } = await client.json<StateProblems>("/nodelet/v1/state-files");
  const query = new URLSearchParams({ name: overview.node, limit: String(LIMIT) });
  const decisions = await client.json<DecisionList>(`/nodelet/v1/decisions?${query}`);
  const history = nodeSteps(decisions.items);
  if (options.output !== undefined) {
    const { node, ready, why: reason, conditions } = overview;
    const told = { node, ready, why: reason, conditions, stateFiles: items, history };
    io.stdout.write(encode(told, options.output));
    return EXIT_OK;
  }
  const view = { columns: columnsOf(io), paint: io.paint };
  writeLines(io.stdout, [
    ...renderNodeWhy(overview, items, view),
    ...renderNodeHistory(history, view),
  ]);
  return EXIT_OK;
}

/** Prints the node's decisions in the journals below these root folders; exits with "not found" when there are none. */
async function whyStoppedNode(
  roots: readonly string[],
  options: WhyOptions,
  { io }: CliContext,
): Promise<number> {
  const history = nodeSteps(await readDecisions(roots, DISK_LIMIT));
  if (history.length === 0) return EXIT_NOT_FOUND;
  io.stderr.write(FROM_JOURNAL);
  if (options.output !== undefined) io.stdout.write(encode({ history }, options.output));
  else
    writeLines(io.stdout, renderNodeHistory(history, { columns: columnsOf(io), paint: io.paint }));
  return EXIT_OK;
}

function columnsOf({ stdout }: CliContext["io"]): number {
  return Math.min(stdout.columns ?? USUAL_COLUMNS, MAX_COLUMNS);
}

function isNoAgent(thrown: unknown): boolean {
  return thrown instanceof CliError && thrown.exitCode === EXIT_NO_AGENT;
}

async function why(reference: string, options: WhyOptions, context: CliContext): Promise<number> {
  const { io } = context;
  const wanted = parsePodReference(reference, options.namespace);
  const found = await find(wanted, options, context);
  const { decisions, pod } = found;
  if (options.output !== undefined) {
    const told = decisions.map((record) => ({ ...record, text: describeDecision(record) }));
    const waits = found.isOffNode ? { offNode: pod?.blocked } : {};
    io.stdout.write(encode({ pod: found.name, decisions: told, ...waits }, options.output));
    return EXIT_OK;
  }
  const history = { ...found, steps: stepsOf(found) };
  const view = { now: io.now(), columns: columnsOf(io), paint: io.paint };
  writeLines(io.stdout, renderHistory(history, view));
  return EXIT_OK;
}

/** Asks the agent, or reads the disk when none runs. */
async function find(
  wanted: PodReference,
  options: WhyOptions,
  context: CliContext,
): Promise<PodHistory> {
  if (options.rootDir !== undefined) return await findOnDisk(wanted, [options.rootDir]);
  try {
    return await requestPodHistory(wanted, clientOf(context, options), LIMIT);
  } catch (thrown) {
    if (!isNoAgent(thrown)) throw thrown;
    context.io.stderr.write(FROM_JOURNAL);
    return await findOnDisk(wanted, DEFAULT_ROOTS);
  }
}

async function findOnDisk(wanted: PodReference, roots: readonly string[]): Promise<PodHistory> {
  const all = await readDecisions(roots, DISK_LIMIT);
  const exact = `${wanted.namespace}/${wanted.name}`;
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
