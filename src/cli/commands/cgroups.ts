import { type Command, Option } from "commander";
import { renderCgroups, type Written } from "../../present/cgroup-tree.ts";
import { EXIT_FAILURE } from "../../present/exit-codes.ts";
import type { CgroupsReport } from "../../subsystems/cgroups/cgroups.ts";
import { type CliContext, clientOf, withSocketOption } from "../context.ts";
import { writeAs } from "../io.ts";

interface CgroupsOptions {
  readonly socket?: string;
  readonly diff?: boolean;
  readonly fix?: boolean;
  readonly output?: "json" | "yaml";
}

const ROUTE = "/nodelet/v1/cgroups";

/** `nodelet cgroups`. */
export function addCgroupsCommand(program: Command, context: CliContext): void {
  const command = program
    .command("cgroups")
    .summary("compare the node's cgroups with their planned values")
    .description(
      "Shows the cgroups of the node, of QoS classes, pods and containers, each value next to the " +
        "planned one. With --diff only values that differ; the exit code is 1 if there are any.",
    )
    .option("--diff", "show only values that differ")
    .option(
      "--fix",
      "write planned values, including those that the agent does not restore by itself",
    )
    .addOption(new Option("-o, --output <form>", "output format").choices(["json", "yaml"]));
  withSocketOption(command).action((options: CgroupsOptions) => cgroups(options, context));
}

async function cgroups(options: CgroupsOptions, context: CliContext): Promise<void> {
  const client = clientOf(context, options);
  const { io } = context;
  const written = options.fix
    ? (await client.json<{ readonly written: readonly Written[] }>(`${ROUTE}/repair`, "POST"))
        .written
    : [];
  const report = await client.json<CgroupsReport>(ROUTE);
  const onlyDifferences = options.diff === true || options.fix === true;
  const shown = onlyDifferences ? differing(report) : report;
  const view = { onlyDifferences, written, paint: io.paint };
  const value = options.fix ? { ...shown, written } : shown;
  writeAs(options.output, value, () => renderCgroups(shown, view), io);
  if (onlyDifferences && report.differences > 0) context.finish(EXIT_FAILURE);
}

/** Only groups that differ, and of these only the values that do. */
function differing(report: CgroupsReport): CgroupsReport {
  const groups = report.groups.flatMap((group) => {
    const values = group.values.filter(({ state }) => state !== "same");
    return values.length > 0 || group.kind === "unknown" ? [{ ...group, values }] : [];
  });
  return { ...report, groups };
}
