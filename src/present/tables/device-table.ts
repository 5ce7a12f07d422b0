// pure

import { humanDuration } from "../../api/text/human-duration.ts";
import type { DevicesReply } from "../shapes.ts";
import type { Paint } from "../text.ts";
import { renderClaims } from "./claim-table.ts";
import { type Column, renderTable } from "./table.ts";

type Resource = DevicesReply["resources"][number];
type Device = Resource["devices"][number];

interface Row {
  readonly resource: Resource;
  readonly device: Device;
  /** Unix milliseconds. */
  readonly now: number;
}

/** How the report is shown. */
interface DevicesShown {
  /** Unix milliseconds. */
  readonly now: number;
  readonly wide: boolean;
  readonly paint: Paint;
}

const HEALTH = { healthy: "green", unhealthy: "red", unknown: "yellow" } as const;

const COLUMNS: readonly Column<Row>[] = [
  { title: "RESOURCE", value: ({ resource }) => resource.resource },
  { title: "DEVICE", value: ({ device }) => device.id },
  {
    title: "HEALTH",
    value: ({ device }) => device.health,
    style: ({ device }) => HEALTH[device.health],
  },
  { title: "NUMA", value: ({ device }) => device.numaNodes.join(",") },
  { title: "POD", value: ({ device }) => ownerText(device) },
  { title: "CONTAINERS", value: ({ device }) => device.owner?.containers.join(",") ?? "" },
  {
    title: "SINCE",
    value: ({ device: { owner }, now }) =>
      owner?.sinceMs === undefined ? "" : humanDuration(now - owner.sinceMs),
  },
  { title: "ANSWER", value: ({ device }) => answerText(device), wide: true },
];

/** A line for each plugin, a table of all devices, and what was found to differ after a start. */
export function renderDevices(report: DevicesReply, shown: DevicesShown): readonly string[] {
  const { now, wide, paint } = shown;
  const claims = report.dynamicResources ? renderClaims(report.dynamicResources, shown) : [];
  if (report.resources.length === 0)
    return claims.length > 0 ? claims : ["No device plugin and no DRA driver has registered."];
  const rows = report.resources.flatMap((resource) =>
    resource.devices.map((device): Row => ({ resource, device, now })),
  );
  const table = rows.length === 0 ? [] : ["", ...renderTable(COLUMNS, rows, { wide, paint })];
  const notes =
    report.notes.length === 0
      ? []
      : ["", "Differences from the checkpoint:", ...report.notes.map((n) => `  ${n}`)];
  const lines = [...report.resources.map(summary), ...table, ...notes];
  return claims.length === 0 ? lines : [...lines, "", ...claims];
}

const PLUGIN: Readonly<Record<Resource["plugin"], string>> = {
  here: "plugin connected",
  listing: "plugin has not listed its devices yet",
  gone: "plugin disconnected",
  unknown: "plugin unknown",
};

function summary({ resource, plugin, counts, sinceSeconds }: Resource): string {
  const since = sinceSeconds === undefined ? "" : ` since ${humanDuration(sinceSeconds * 1000)}`;
  const { free, owned, unusable } = counts;
  return `${resource}: ${free} free, ${owned} owned, ${unusable} unusable; ${PLUGIN[plugin]}${since}`;
}

function ownerText({ owner }: Device): string {
  if (!owner) return "";
  return owner.name === "" ? owner.podUid : `${owner.namespace}/${owner.name}`;
}

function answerText({ owner }: Device): string {
  if (!owner?.answer) return "";
  const { env, mounts, deviceNodes, annotations, cdiDevices } = owner.answer;
  return [
    ...env.map((name) => `env ${name}`),
    ...mounts.map((mount) => `mount ${mount}`),
    ...deviceNodes.map((node) => `device ${node}`),
    ...annotations.map((name) => `annotation ${name}`),
    ...cdiDevices.map((name) => `cdi ${name}`),
  ].join(", ");
}
