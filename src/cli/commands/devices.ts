import { type Command, Option } from "commander";
import { EXIT_OK } from "../../present/exit-codes.ts";
import { encode } from "../../present/output.ts";
import type { DeviceReport } from "../../present/shapes.ts";
import { renderDevices } from "../../present/tables/device-table.ts";
import { type CliContext, clientOf, withSocketOption } from "../context.ts";
import { writeLines } from "../io.ts";

interface DevicesOptions {
  readonly socket?: string;
  readonly output: "table" | "wide" | "json" | "yaml";
}

const ROUTE = "/nodelet/v1/devices";

/** `nodelet devices`. */
export function addDevicesCommand(program: Command, context: CliContext): void {
  const command = program
    .command("devices")
    .summary("show devices of device plugins and the pods that use them")
    .description(
      "Shows every device that device plugins have listed: its health, its NUMA node, the pod it is " +
        "allocated to and since when. With -o wide also the plugin's answer to the allocation, without " +
        "the values of environment variables, which may be secret.",
    )
    .argument("[resource]", "show only this resource, e.g. vendor.example/gpu")
    .addOption(
      new Option("-o, --output <form>", "output format")
        .choices(["table", "wide", "json", "yaml"])
        .default("table"),
    );
  withSocketOption(command).action(
    async (resource: string | undefined, options: DevicesOptions) => {
      context.finish(await devices(resource, options, context));
    },
  );
}

async function devices(
  resource: string | undefined,
  options: DevicesOptions,
  context: CliContext,
): Promise<number> {
  const { io } = context;
  const all = await clientOf(context, options).json<DeviceReport>(ROUTE);
  const report: DeviceReport = {
    ...all,
    resources: all.resources.filter((each) => resource === undefined || each.resource === resource),
  };
  if (options.output === "json" || options.output === "yaml")
    io.stdout.write(encode(report, options.output));
  else {
    const shown = { now: io.now(), wide: options.output === "wide", paint: io.paint };
    writeLines(io.stdout, renderDevices(report, shown));
  }
  return EXIT_OK;
}
