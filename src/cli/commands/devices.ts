import { type Command, Option } from "commander";
import type { DeviceReport } from "../../present/shapes.ts";
import { renderDevices } from "../../present/tables/device-table.ts";
import { type CliContext, clientOf, withSocketOption } from "../context.ts";
import { writeAs } from "../io.ts";

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
  withSocketOption(command).action((resource: string | undefined, options: DevicesOptions) =>
    devices(resource, options, context),
  );
}

async function devices(
  resource: string | undefined,
  options: DevicesOptions,
  context: CliContext,
): Promise<void> {
  const { io } = context;
  const all = await clientOf(context, options).json<DeviceReport>(ROUTE);
  const report: DeviceReport = {
    ...all,
    resources: all.resources.filter((each) => resource === undefined || each.resource === resource),
  };
  const view = { now: io.now(), wide: options.output === "wide", paint: io.paint };
  writeAs(options.output, report, () => renderDevices(report, view), io);
}
