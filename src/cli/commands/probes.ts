import { type Command, Option } from "commander";
import { describeProbes } from "../../present/describe/probe-detail.ts";
import { encode } from "../../present/output.ts";
import type { ProbesReply } from "../../present/shapes.ts";
import { PROBE_COLUMNS } from "../../present/tables/probe-table.ts";
import { renderTable } from "../../present/tables/table.ts";
import { type CliContext, clientOf, withSocketOption } from "../context.ts";
import { writeLines } from "../io.ts";
import { fetchPod } from "./options/pod-options.ts";

interface ProbesOptions {
  readonly namespace?: string;
  readonly output?: "wide" | "json" | "yaml";
  readonly socket?: string;
}

const ROUTE = "/nodelet/v1/probes";

/** `nodelet probes`. */
export function addProbesCommand(program: Command, context: CliContext): void {
  const command = program
    .command("probes")
    .summary("show probes with their results and cost")
    .description(
      "Shows every probe of the node: its result, its period and how long it takes. With a pod, also " +
        "what each probe waits for and its last attempts.",
    )
    .argument("[pod]", "show only this pod, with its last attempts")
    .option("-n, --namespace <name>", "show only this namespace")
    .addOption(
      new Option("-o, --output <form>", "output format").choices(["wide", "json", "yaml"]),
    );
  withSocketOption(command)
    .addHelpText("after", EXAMPLES)
    .action((pod: string | undefined, options: ProbesOptions) => probes(pod, options, context));
}

const EXAMPLES = `
Examples:
  nodelet probes
  nodelet probes pod/hello
  nodelet probes -o json
`;

async function probes(
  reference: string | undefined,
  options: ProbesOptions,
  context: CliContext,
): Promise<void> {
  const { io } = context;
  const { namespace, output } = options;
  const client = clientOf(context, options);
  const pod =
    reference === undefined
      ? undefined
      : await fetchPod(client, reference, { namespace: namespace ?? "default" });
  const all = (await client.json<ProbesReply>(ROUTE)).items;
  const items = all.filter((probe) =>
    pod
      ? probe.podUid === pod.metadata?.uid
      : namespace === undefined || probe.namespace === namespace,
  );
  if (output === "json" || output === "yaml") io.stdout.write(encode({ items }, output));
  else if (items.length === 0) io.stderr.write("No probes found.\n");
  else if (pod) writeLines(io.stdout, describeProbes(items, io.now(), io.paint));
  else {
    const rows = items.map((probe) => ({ probe, now: io.now() }));
    writeLines(
      io.stdout,
      renderTable(PROBE_COLUMNS, rows, { paint: io.paint, wide: output === "wide" }),
    );
  }
}
