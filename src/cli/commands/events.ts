import { type Command, InvalidArgumentError, Option } from "commander";
import { type EventChoice, parseEventChoice } from "../../api/event-choice.ts";
import type { CoreEvent } from "../../api/generated/types.ts";
import { changesOf } from "../../client/changes.ts";
import { type EventFilter, matchesFilter, readEvents, requestEvents } from "../../client/events.ts";
import { CliError } from "../../present/cli-error.ts";
import { EXIT_NO_AGENT, EXIT_USAGE } from "../../present/exit-codes.ts";
import { encode } from "../../present/output.ts";
import { eventRow, eventTime, HISTORY_COLUMNS } from "../../present/tables/event-row.ts";
import { renderTable, type TableOptions } from "../../present/tables/table.ts";
import { type CliContext, clientOf, withSocketOption } from "../context.ts";
import { type Io, writeLines } from "../io.ts";
import { askOrRead } from "./ask-or-read.ts";
import { readAge } from "./options/arguments.ts";

interface EventsOptions {
  readonly for?: EventChoice;
  readonly namespace?: string;
  /** Milliseconds. */
  readonly since?: number;
  readonly limit?: number;
  readonly watch?: boolean;
  readonly output?: "wide" | "json" | "yaml";
  readonly headers: boolean;
  readonly rootDir?: string;
  readonly socket?: string;
}

/** Events that are shown when neither a time nor a number is given. */
const USUAL_LIMIT = 500;
/** Events that are shown at most. */
const MOST = 5_000;

/** `nodelet events`. */
export function addEventsCommand(program: Command, context: CliContext): void {
  const command = program
    .command("events")
    .summary("show events, even without API server or agent")
    .description(
      "Shows the events of this node, sorted by the time they were last seen, from the node's own " +
        "history. That includes events that never reached the API server, with the reason. When the agent " +
        "is not running, they are read from disk.",
    )
    .addOption(
      new Option(
        "--for <object>",
        "show only events of pod/name, pod/namespace/name or node",
      ).argParser(readChoice),
    )
    .option("-n, --namespace <name>", "show only this namespace")
    .addOption(
      new Option("--since <duration>", "show only events newer than this, e.g. 1h").argParser(
        readAge,
      ),
    )
    .addOption(
      new Option(
        "--limit <events>",
        `show only the newest (default: ${USUAL_LIMIT}, unless --since is given)`,
      ).argParser(readLimit),
    )
    .option("-w, --watch", "watch for new events after listing")
    .addOption(new Option("-o, --output <form>", "output format").choices(["wide", "json", "yaml"]))
    .option("--no-headers", "omit the header row")
    .option("--root-dir <folder>", "root folder of an agent that is not running");
  withSocketOption(command)
    .addHelpText("after", MARKS_HELP)
    .action((options: EventsOptions) => events(options, context));
}

const MARKS_HELP = `
Marks:
  combined     similar events were combined into this one for the API server
  filtered=N   N repetitions were rate-limited: counted, not sent
  spooled=N    N are stored on disk until the API server can be reached
  dropped=N    N were lost before they reached the API server
`;

async function events(options: EventsOptions, context: CliContext): Promise<void> {
  if (options.watch === true) return await watch(options, context);
  const found = await find(options, context);
  if (found.length === 0 && options.output !== "json" && options.output !== "yaml") {
    context.io.stderr.write("No events found.\n");
    return;
  }
  showList(found, options, context);
}

async function find(options: EventsOptions, context: CliContext): Promise<readonly CoreEvent[]> {
  const filter = filterOf(options, context.io.now());
  return await askOrRead(options, context.io, {
    ask: () => requestEvents(clientOf(context, options), filter),
    read: (roots) => readEvents(roots, filter),
    what: "history",
  });
}

function filterOf({ for: choice, namespace, since, limit }: EventsOptions, now: number) {
  const usual = since === undefined ? USUAL_LIMIT : MOST;
  return {
    choice,
    namespace,
    sinceMs: since === undefined ? undefined : now - since,
    limit: limit ?? usual,
  } satisfies EventFilter;
}

function showList(
  found: readonly CoreEvent[],
  { output, headers }: EventsOptions,
  { io }: CliContext,
): void {
  if (output === "json" || output === "yaml") {
    const items = found.map(withKind);
    const list = { apiVersion: "v1", kind: "List", metadata: { resourceVersion: "" }, items };
    io.stdout.write(encode(list, output));
    return;
  }
  writeLines(io.stdout, tableOf(found, { wide: output === "wide", headers }, io));
}

function tableOf(
  events: readonly CoreEvent[],
  options: Pick<TableOptions, "wide" | "headers">,
  { paint, now }: Io,
): readonly string[] {
  const at = now();
  const rows = events.map((event) => eventRow(event, at));
  return renderTable(HISTORY_COLUMNS, rows, { ...options, paint });
}

/** Shows what there is and then every event, until it is interrupted. */
async function watch(options: EventsOptions, context: CliContext): Promise<void> {
  if (options.rootDir !== undefined) {
    throw new CliError("--watch needs a running agent", {
      exitCode: EXIT_USAGE,
      fix: "omit --root-dir",
    });
  }
  const interrupt = context.onInterrupt();
  const filter = filterOf(options, context.io.now());
  const viewer = new EventViewer(options, context);
  const before: CoreEvent[] = [];
  let synced = false;
  for await (const change of changesOf(clientOf(context, options), interrupt)) {
    if (change.kind === "eventsMissed")
      context.io.stderr.write(
        `nodelet: ${change.count} events are not shown: they arrived too fast\n`,
      );
    if (change.kind === "synced") {
      viewer.show(before.slice(-filter.limit));
      synced = true;
    }
    if (change.kind !== "event" || !matchesFilter(change.event, filter)) continue;
    if (synced) viewer.show([change.event]);
    else if (eventTime(change.event) >= (filter.sinceMs ?? 0)) before.push(change.event);
  }
  if (interrupt.aborted) return;
  throw new CliError("the agent has stopped", { exitCode: EXIT_NO_AGENT });
}

/** Events whose columns those that come are aligned with. */
const ALIGNED = 100;

/** Shows events of a watch as they come: objects one after the other, or lines of one table. */
class EventViewer {
  readonly #options: EventsOptions;
  readonly #context: CliContext;
  #shown: readonly CoreEvent[] = [];
  #headers: boolean;

  constructor(options: EventsOptions, context: CliContext) {
    this.#options = options;
    this.#context = context;
    this.#headers = options.headers;
  }

  show(events: readonly CoreEvent[]): void {
    const { io } = this.#context;
    const { output } = this.#options;
    if (events.length === 0) return;
    if (output === "json" || output === "yaml") {
      const start = output === "yaml" ? "---\n" : "";
      for (const event of events) io.stdout.write(`${start}${encode(withKind(event), output)}`);
      return;
    }
    this.#shown = [...this.#shown, ...events].slice(-Math.max(ALIGNED, events.length));
    const [titles = "", ...lines] = tableOf(this.#shown, { wide: output === "wide" }, io);
    writeLines(io.stdout, [...(this.#headers ? [titles] : []), ...lines.slice(-events.length)]);
    this.#headers = false;
  }
}

/** Events in lists of the agent leave out what they are. */
function withKind(event: CoreEvent): CoreEvent {
  return { apiVersion: "v1", kind: "Event", ...event };
}

function readChoice(text: string): EventChoice {
  const choice = parseEventChoice(text);
  if (choice !== undefined) return choice;
  throw new InvalidArgumentError("write pod/name, pod/namespace/name or node");
}

function readLimit(text: string): number {
  const limit = Number(text);
  if (/^\d+$/.test(text) && limit >= 1 && limit <= MOST) return limit;
  throw new InvalidArgumentError(`write a whole number from 1 to ${MOST}`);
}
