import { type Command, Option } from "commander";
import {
  type LabelRequirements,
  matchesLabels,
  parseLabelSelector,
} from "../../../api/text/labels.ts";
import { nearest } from "../../../api/text/nearest.ts";
import { CliError } from "../../../present/cli-error.ts";
import { EXIT_NOT_FOUND, EXIT_USAGE } from "../../../present/exit-codes.ts";
import { encode, OUTPUT_FORMS } from "../../../present/output.ts";
import { type CliContext, clientOf, withSocketOption } from "../../context.ts";
import { writeLines } from "../../io.ts";
import { findResource, type ListedResource, RESOURCES, type ResourceRow } from "./resources.ts";
import { type GetOptions, watchResource } from "./watch-resource.ts";

/** `nodelet get`. */
export function addGetCommand(program: Command, context: CliContext): void {
  const command = program
    .command("get")
    .summary("list pods, the node, events and more")
    .description(
      `Lists what the agent knows: ${RESOURCES.map(({ words }) => words[0]).join(", ")}.`,
    )
    .argument("<what>", "what to list, or what/name")
    .argument("[names...]", "show only these")
    .option("-n, --namespace <name>", "show only this namespace", "default")
    .option("-A, --all-namespaces", "show all namespaces")
    .option("-l, --selector <selector>", "filter by labels, e.g. app=web,tier!=test")
    .addOption(new Option("-o, --output <form>", "output format").choices(OUTPUT_FORMS))
    .option("-w, --watch", "watch for changes after listing")
    .option("--no-headers", "omit the header row");
  withSocketOption(command)
    .addHelpText("after", EXAMPLES)
    .action((what: string, names: readonly string[], options: GetOptions) =>
      get(what, names, options, context),
    );
}

const EXAMPLES = `
Examples:
  nodelet get pods -A -o wide
  nodelet get pod hello -o yaml
  nodelet get events -w
  nodelet get cpus                   who has which CPU, and what is left on each NUMA node
`;

async function get(
  what: string,
  names: readonly string[],
  options: GetOptions,
  context: CliContext,
): Promise<void> {
  const [word = "", ...more] = what.split("/");
  const resource = resourceOf(word);
  const selected = more.length > 0 ? [more.join("/"), ...names] : names;
  const selector = selectorOf(options.selector);
  const client = clientOf(context, options);
  const { io } = context;
  const select = (rows: readonly ResourceRow[]) =>
    selectRows(resource, rows, { names: selected, options, selector });
  if (options.watch === true)
    return await watchResource({ resource, client, select, options }, context);
  const rows = select(await resource.fetch(client));
  requireAll(resource, rows, selected);
  const { output } = options;
  if (output === "json" || output === "yaml") {
    const [single] = rows;
    const one = selected.length === 1 && single !== undefined;
    io.stdout.write(encode(one ? single.object : listOf(resource, rows), output));
  } else if (output === "name") {
    writeLines(
      io.stdout,
      rows.map(({ name }) => `${resource.kind}/${name}`),
    );
  } else if (rows.length === 0) io.stderr.write(`${nothing(resource, options)}\n`);
  else {
    const table = { paint: io.paint, wide: output === "wide", headers: options.headers };
    const view = { ...table, allNamespaces: options.allNamespaces === true, now: io.now() };
    writeLines(io.stdout, resource.table(rows, view));
    if (options.headers) writeLines(io.stdout, (await resource.below?.(client, view)) ?? []);
  }
}

/** The resource that a word names. */
function resourceOf(word: string): ListedResource {
  const found = findResource(word);
  if (found !== undefined) return found;
  const known = RESOURCES.flatMap(({ words }) => words);
  const near = nearest(word, known);
  throw new CliError(`unknown resource type "${word}"`, {
    exitCode: EXIT_USAGE,
    fix:
      near === undefined
        ? `available types: ${RESOURCES.map(({ words }) => words[0]).join(", ")}`
        : `did you mean ${near}?`,
  });
}

function selectorOf(text: string | undefined): LabelRequirements {
  const read = parseLabelSelector(text ?? "");
  if (read.kind === "selector") return read.selector;
  throw new CliError(`--selector: ${read.message}`, { exitCode: EXIT_USAGE });
}

interface Selection {
  readonly names: readonly string[];
  readonly options: GetOptions;
  readonly selector: LabelRequirements;
}

/** Rows of the selected namespace, names and labels. */
function selectRows(
  resource: ListedResource,
  rows: readonly ResourceRow[],
  { names, options, selector }: Selection,
): readonly ResourceRow[] {
  const here = rows.filter(
    ({ namespace, labels }) =>
      (!resource.namespaced || options.allNamespaces === true || namespace === options.namespace) &&
      matchesLabels(selector, labels),
  );
  if (names.length === 0) return here;
  return names.flatMap((name) => {
    const exact = here.filter((row) => row.name === name);
    return exact.length > 0 ? exact : here.filter(({ alias }) => alias === name);
  });
}

function requireAll(
  resource: ListedResource,
  rows: readonly ResourceRow[],
  names: readonly string[],
): void {
  const missing = names.find(
    (name) => !rows.some((row) => row.name === name || row.alias === name),
  );
  if (missing === undefined) return;
  throw new CliError(`${resource.kind} ${missing} not found`, {
    exitCode: EXIT_NOT_FOUND,
    fix: `nodelet get ${resource.words[0]}${resource.namespaced ? " -A" : ""} lists all`,
  });
}

function listOf({ about }: ListedResource, rows: readonly ResourceRow[]): unknown {
  return {
    apiVersion: "v1",
    kind: "List",
    metadata: { resourceVersion: "" },
    ...(rows.length === 0 ? {} : about?.(rows)),
    items: rows.map(({ object }) => object),
  };
}

function nothing({ words, namespaced }: ListedResource, options: GetOptions): string {
  if (!namespaced || options.allNamespaces === true) return `No ${words[0]} found.`;
  return `No ${words[0]} found in namespace ${options.namespace}.`;
}
