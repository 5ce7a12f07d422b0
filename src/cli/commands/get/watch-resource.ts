import type { AgentClient } from "../../../client/agent-client.ts";
import { changesOf } from "../../../client/changes.ts";
import { CliError } from "../../../present/cli-error.ts";
import { EXIT_NO_AGENT, EXIT_USAGE } from "../../../present/exit-codes.ts";
import type { OutputForm } from "../../../present/output.ts";
import { encode } from "../../../present/output.ts";
import type { CliContext } from "../../context.ts";
import { writeLines } from "../../io.ts";
import type { ListedResource, ResourceRow } from "./resources.ts";

export interface GetOptions {
  readonly namespace: string;
  readonly allNamespaces?: boolean;
  readonly output?: OutputForm;
  readonly selector?: string;
  readonly watch?: boolean;
  /** False with `--no-headers`. */
  readonly headers: boolean;
  readonly socket?: string;
}

/** Subject of the watch. */
export interface Watch {
  readonly resource: ListedResource;
  readonly client: AgentClient;
  readonly select: (rows: readonly ResourceRow[]) => readonly ResourceRow[];
  readonly options: GetOptions;
}

/** Shows what there is and then every change, until it is interrupted. */
export async function watchResource(watch: Watch, context: CliContext): Promise<void> {
  const { resource, client, select, options } = watch;
  const { ofChange } = resource;
  if (ofChange === undefined) {
    throw new CliError(`${resource.words[0]} cannot be watched`, {
      exitCode: EXIT_USAGE,
      fix: `poll instead: watch nodelet get ${resource.words[0]}`,
    });
  }
  const interrupt = context.onInterrupt();
  const known = new Map<string, ResourceRow>();
  let headers = options.headers;
  let synced = false;
  const print = (rows: readonly ResourceRow[]) => {
    if (rows.length === 0) return;
    show(watch, { rows, known: [...known.values()], headers }, context);
    headers = false;
  };
  for await (const change of changesOf(client, interrupt)) {
    const rows = select([ofChange(change)].filter((row) => row !== undefined));
    for (const row of rows) known.set(`${row.namespace}/${row.name}`, row);
    if (synced) print(rows);
    else if (change.kind === "synced") {
      synced = true;
      print([...known.values()]);
    }
  }
  if (interrupt.aborted) return;
  throw new CliError("the agent has stopped", { exitCode: EXIT_NO_AGENT });
}

interface Shown {
  /** Those that changed. */
  readonly rows: readonly ResourceRow[];
  /** All, so that columns stand below each other. */
  readonly known: readonly ResourceRow[];
  readonly headers: boolean;
}

function show({ resource, options }: Watch, shown: Shown, { io }: CliContext): void {
  const { rows, known, headers } = shown;
  const { output } = options;
  if (output === "json" || output === "yaml") {
    for (const { object } of rows)
      io.stdout.write(`${output === "yaml" ? "---\n" : ""}${encode(object, output)}`);
  } else if (output === "name") {
    writeLines(
      io.stdout,
      rows.map(({ name }) => `${resource.kind}/${name}`),
    );
  } else {
    const [titles = "", ...lines] = resource.table(known, {
      paint: io.paint,
      wide: output === "wide",
      allNamespaces: options.allNamespaces === true,
      now: io.now(),
    });
    const changed = lines.filter((_, i) => known[i] !== undefined && rows.includes(known[i]));
    writeLines(io.stdout, headers ? [titles, ...changed] : changed);
  }
}
