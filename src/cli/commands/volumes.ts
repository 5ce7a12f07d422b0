import { type Command, Option } from "commander";
import type { CsiReport } from "../../present/shapes.ts";
import { renderVolumes } from "../../present/tables/volume-table.ts";
import { type CliContext, clientOf, withSocketOption } from "../context.ts";
import { writeAs } from "../io.ts";

interface VolumesOptions {
  readonly socket?: string;
  readonly output: "table" | "wide" | "json" | "yaml";
}

const ROUTE = "/nodelet/v1/volumes";

/** `nodelet volumes`. */
export function addVolumesCommand(program: Command, context: CliContext): void {
  const command = program
    .command("volumes")
    .summary("show volumes of CSI drivers and the pods that use them")
    .description(
      "Shows the CSI drivers that have registered and every volume of theirs on this node: who attaches " +
        "it, whether it is staged, which pods have it or wait for it, the step under way, and what keeps " +
        "it from going on. With -o wide also the handle by which the driver knows it.",
    )
    .addOption(
      new Option("-o, --output <form>", "output format")
        .choices(["table", "wide", "json", "yaml"])
        .default("table"),
    );
  withSocketOption(command).action(async (options: VolumesOptions) => {
    const { io } = context;
    const report = await clientOf(context, options).json<CsiReport>(ROUTE);
    const view = { wide: options.output === "wide", paint: io.paint };
    writeAs(options.output, report, () => renderVolumes(report, view), io);
  });
}
