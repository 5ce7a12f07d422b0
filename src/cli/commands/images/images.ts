import { type Command, InvalidArgumentError, Option } from "commander";
import { parseQuantity, quantityValue } from "../../../api/text/quantity.ts";
import { humanBytes } from "../../../present/amounts.ts";
import { CliError } from "../../../present/cli-error.ts";
import { EXIT_FAILURE, EXIT_USAGE } from "../../../present/exit-codes.ts";
import {
  DELETION_COLUMNS,
  diskLine,
  IMAGE_COLUMNS,
  imageName,
  planLine,
} from "../../../present/tables/image-table.ts";
import { renderTable } from "../../../present/tables/table.ts";
import { counted, oneLine } from "../../../present/text.ts";
import type { CollectionAnswer } from "../../../server/server.ts";
import type { ImagesReport } from "../../../subsystems/images/images.ts";
import { type CliContext, clientOf, withSocketOption } from "../../context.ts";
import { type Io, writeAs } from "../../io.ts";
import { addBuildCommand } from "./build.ts";
import { addTransferCommands } from "./transfer.ts";

type Output = "table" | "wide" | "json" | "yaml";

interface ListOptions {
  readonly socket?: string;
  readonly output: Output;
}

interface GcOptions extends ListOptions {
  readonly dryRun?: boolean;
  readonly free?: number;
  readonly to?: number;
  readonly unused?: boolean;
}

const ROUTE = "/nodelet/v1/images";
/** Removing images takes as long as the runtime takes. */
const COLLECT_MS = 30 * 60_000;

/** `nodelet images` and what is below it. */
export function addImagesCommand(program: Command, context: CliContext): void {
  const images = program
    .command("images")
    .enablePositionalOptions()
    .summary("show images, the pods that use them, and which would be removed")
    .description(
      "Shows every image with its size, its last use, the pods that use it, and what the next garbage " +
        "collection would do with it and why.",
    )
    .addOption(outputOption());
  withSocketOption(images).action(async (options: ListOptions) => {
    const report = await clientOf(context, options).json<ImagesReport>(ROUTE);
    showImages(report, options.output, context.io);
  });
  addBuildCommand(images, context);
  const gc = images
    .command("gc")
    .summary("remove unused images")
    .description(
      "Removes unused images in the order of the agent's garbage collection, with the same protections. " +
        "With --dry-run it removes nothing and lists what would be removed; without --free, --to or " +
        "--unused that is what the next garbage collection would remove.",
    )
    .option("--dry-run", "show what would be removed, remove nothing")
    .addOption(
      new Option("--free <amount>", "amount of disk space to free, e.g. 5Gi").argParser(bytesOf),
    )
    .addOption(
      new Option("--to <percent>", "free space until disk usage is below this, e.g. 70%").argParser(
        percentOf,
      ),
    )
    .option("--unused", "remove every unused image")
    .addOption(outputOption());
  addTransferCommands(images, context);
  withSocketOption(gc).action(async (_: unknown, command: Command) => {
    const { socket, ...own } = command.opts<GcOptions>();
    const at = socket ?? images.opts<ListOptions>().socket;
    await collect({ ...own, ...(at === undefined ? {} : { socket: at }) }, context);
  });
}

function outputOption(): Option {
  return new Option("-o, --output <form>", "output format")
    .choices(["table", "wide", "json", "yaml"])
    .default("table");
}

function bytesOf(text: string): number {
  try {
    const bytes = Number(quantityValue(parseQuantity(text)));
    if (bytes > 0 && Number.isSafeInteger(bytes)) return bytes;
  } catch {
    // Reported below.
  }
  throw new InvalidArgumentError("write an amount such as 500Mi or 5Gi");
}

function percentOf(text: string): number {
  const [, digits] = /^(\d{1,3})%?$/.exec(text) ?? [];
  if (digits !== undefined && Number(digits) <= 100) return Number(digits);
  throw new InvalidArgumentError("write a percentage from 0% to 100%");
}

function showImages(report: ImagesReport, output: Output, io: Io): void {
  const bySize = report.images.toSorted((a, b) => b.sizeBytes - a.sizeBytes);
  const rows = bySize.map((image) => ({ image, atMs: report.atMs }));
  const view = { paint: io.paint, wide: output === "wide" };
  const lines = () => [
    ...renderTable(IMAGE_COLUMNS, rows, view),
    diskLine(report),
    planLine(report),
  ];
  writeAs(output, report, lines, io);
}

async function collect(options: GcOptions, context: CliContext): Promise<void> {
  const { io } = context;
  const goals = [options.free, options.to, options.unused].filter((goal) => goal !== undefined);
  if (goals.length > 1)
    throw new CliError("--free, --to and --unused cannot be used together", {
      exitCode: EXIT_USAGE,
    });
  if (goals.length === 0 && !options.dryRun)
    throw new CliError("specify how much to free", {
      exitCode: EXIT_USAGE,
      fix: "nodelet images gc --free 5Gi, --to 70% or --unused; add --dry-run for a preview",
    });
  const client = clientOf(context, options);
  const query = queryOf(options);
  if (options.dryRun)
    return showPlan(await client.json<ImagesReport>(`${ROUTE}${query}`), options.output, io);
  const answer = await client.json<CollectionAnswer>(`${ROUTE}/gc${query}`, "POST", COLLECT_MS);
  showDone(answer, options.output, io);
  if (answer.errors.length > 0) context.finish(EXIT_FAILURE);
}

function queryOf({ free, to, unused }: GcOptions): string {
  if (free !== undefined) return `?free=${free}`;
  if (to !== undefined) return `?to=${to}`;
  return unused ? "?unused=true" : "";
}

function showPlan(report: ImagesReport, output: Output, io: Io): void {
  const going = report.images.filter(({ fate }) => fate === "delete");
  const rows = going.map((image) => ({ image, atMs: report.atMs }));
  const table = rows.length === 0 ? [] : renderTable(DELETION_COLUMNS, rows, { paint: io.paint });
  const lines = [...table, diskLine(report), planLine(report)];
  writeAs(output, { ...report, images: going }, () => lines, io);
}

function showDone(answer: CollectionAnswer, output: Output, io: Io): void {
  const { removed, spared, freedBytes, errors } = answer;
  const lines = [
    ...removed.map(
      (image) => `removed ${oneLine(imageName(image))} ${humanBytes(image.sizeBytes)}`,
    ),
    ...spared.map((image) => `kept ${oneLine(imageName(image))}: it is in use now`),
    ...errors.map((error) => `failed: ${oneLine(error)}`),
    `${counted(removed.length, "image")} removed, ${humanBytes(freedBytes)}`,
  ];
  writeAs(output, answer, () => lines, io);
}
