import type { Command } from "commander";
import type { CoreEventList, PodList } from "../../api/generated/types.ts";
import { requestDecisions } from "../../client/decisions.ts";
import { requestSignals } from "../../client/eviction-signals.ts";
import { CliError } from "../../present/cli-error.ts";
import { describeNode } from "../../present/describe/describe-node.ts";
import { describePod } from "../../present/describe/describe-pod.ts";
import { EXIT_NOT_FOUND, EXIT_USAGE } from "../../present/exit-codes.ts";
import type { Overview, ProblemsReply } from "../../present/shapes.ts";
import { type CliContext, clientOf } from "../context.ts";
import { writeLines } from "../io.ts";
import { fetchPod, type PodOptions, withPodOptions } from "./options/pod-options.ts";

/** Decisions below a description; `nodelet why` shows all. */
const DECISIONS = 20;

/** `nodelet describe`. */
export function addDescribeCommand(program: Command, context: CliContext): void {
  const command = program
    .command("describe")
    .summary("show details of a pod or the node")
    .description("Shows details of a pod or of the node, with its events and decisions.")
    .argument("<what>", "pod, node, or pod/name")
    .argument("[name]", "name of the pod");
  withPodOptions(command)
    .addHelpText("after", EXAMPLES)
    .action((what: string, name: string | undefined, options: PodOptions) =>
      describe(what, name, { options, context }),
    );
}

const EXAMPLES = `
Examples:
  nodelet describe pod hello
  nodelet describe node
`;

interface Describe {
  readonly options: PodOptions;
  readonly context: CliContext;
}

const POD = new Set(["pod", "pods", "po"]);
const NODE = new Set(["node", "nodes", "no"]);

async function describe(
  what: string,
  name: string | undefined,
  { options, context }: Describe,
): Promise<void> {
  const [word = "", behind] = what.split("/");
  const reference = name ?? behind;
  if (POD.has(word) && reference !== undefined)
    return await describeOnePod(reference, options, context);
  if (NODE.has(word)) return await describeTheNode(reference, options, context);
  throw new CliError(`"${what}" cannot be described`, {
    exitCode: EXIT_USAGE,
    fix: "write: nodelet describe pod <name>, or nodelet describe node",
  });
}

async function describeOnePod(
  reference: string,
  options: PodOptions,
  context: CliContext,
): Promise<void> {
  const { io } = context;
  const client = clientOf(context, options);
  const pod = await fetchPod(client, reference, options);
  const { namespace = "", name = "" } = pod.metadata ?? {};
  const query = new URLSearchParams({ for: `pod/${namespace}/${name}` });
  const [events, decisions] = await Promise.all([
    client.json<CoreEventList>(`/nodelet/v1/events?${query}`),
    requestDecisions(client, { namespace, name }, DECISIONS),
  ]);
  const report = { pod, events: events.items, decisions };
  writeLines(io.stdout, describePod(report, io.now(), io.paint));
}

async function describeTheNode(
  reference: string | undefined,
  options: PodOptions,
  context: CliContext,
): Promise<void> {
  const { io } = context;
  const client = clientOf(context, options);
  const overview = await client.json<Overview>("/nodelet/v1/overview");
  if (reference !== undefined && reference !== overview.node) {
    throw new CliError(`there is no node ${reference}`, {
      exitCode: EXIT_NOT_FOUND,
      fix: `the node here is ${overview.node}`,
    });
  }
  const [pods, events, problems, eviction] = await Promise.all([
    client.json<PodList>("/nodelet/v1/pods"),
    client.json<CoreEventList>("/nodelet/v1/events?for=node"),
    client.json<ProblemsReply>("/nodelet/v1/problems"),
    requestSignals(client),
  ]);
  const report = {
    overview,
    pods: pods.items,
    events: events.items,
    problems: problems.items,
    eviction,
  };
  writeLines(io.stdout, describeNode(report, io.now(), io.paint));
}
