import { type Command, Option } from "commander";
import type { DevicesReply } from "../../present/shapes.ts";
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
    .summary("show devices and resource claims, and the pods that use them")
    .description(
      "Shows every device that device plugins have listed: its health, its NUMA node, the pod it is " +
        "allocated to and since when. Then every resource claim that is prepared: by which driver, which " +
        "devices, for which pods and since when, and which pods wait for their claims, and why. With -o wide " +
        "also the plugin's answer to the allocation, without the values of environment variables, which may " +
        "be secret, and the CDI devices of claims.",
    )
    .argument("[resource]", "show only this resource, or this DRA driver, e.g. vendor.example/gpu")
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
  const all = await clientOf(context, options).json<DevicesReply>(ROUTE);
  const report = resource === undefined ? all : onlyOf(resource, all);
  const view = { now: io.now(), wide: options.output === "wide", paint: io.paint };
  writeAs(options.output, report, () => renderDevices(report, view), io);
}

/** What the report says of one resource, or of one DRA driver. */
function onlyOf(name: string, report: DevicesReply): DevicesReply {
  const resources = report.resources.filter(({ resource }) => resource === name);
  const { dynamicResources } = report;
  if (!dynamicResources) return { ...report, resources };
  const drivers = dynamicResources.drivers.filter((driver) => driver.name === name);
  const claims = dynamicResources.claims
    .map((claim) => ({
      ...claim,
      devices: claim.devices.filter(({ driver }) => driver === name),
      withoutDevices: claim.withoutDevices.filter((driver) => driver === name),
    }))
    .filter(({ devices, withoutDevices }) => devices.length + withoutDevices.length > 0);
  return { ...report, resources, dynamicResources: { ...dynamicResources, drivers, claims } };
}
