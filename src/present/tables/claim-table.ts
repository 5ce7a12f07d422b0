// pure
import { humanDuration } from "../../api/text/human-duration.ts";
import type { ClaimReport } from "../shapes.ts";
import type { Paint } from "../text.ts";
import { type Column, renderTable } from "./table.ts";

type Claim = ClaimReport["claims"][number];
type Device = Claim["devices"][number];

/** A device of a claim. */
export interface ClaimRow {
  readonly claim: Claim;
  /** Empty for a claim that no driver is called for. */
  readonly driver: string;
  /** Absent for a driver that has named none. */
  readonly device?: Device;
}

interface Row extends ClaimRow {
  /** Unix milliseconds. */
  readonly now: number;
}

/** How the report is shown. */
interface ClaimsShown {
  /** Unix milliseconds. */
  readonly now: number;
  readonly wide: boolean;
  readonly paint: Paint;
}

/** Styles of the health of a device. */
export const HEALTH_STYLES = { Healthy: "green", Unhealthy: "red", Unknown: "yellow" } as const;

const COLUMNS: readonly Column<Row>[] = [
  { title: "CLAIM", value: ({ claim }) => `${claim.namespace}/${claim.name}` },
  { title: "DRIVER", value: ({ driver }) => driver },
  { title: "DEVICE", value: ({ device }) => (device ? deviceText(device) : "") },
  {
    title: "HEALTH",
    value: ({ device }) => (device ? device.health.toLowerCase() : ""),
    style: ({ device }) => device && HEALTH_STYLES[device.health],
  },
  {
    title: "STATE",
    value: ({ claim }) => claim.state,
    style: ({ claim }) => (claim.state === "prepared" ? "green" : "yellow"),
  },
  { title: "PODS", value: ({ claim }) => claim.pods.join(",") },
  {
    title: "SINCE",
    value: ({ claim: { preparedMs }, now }) =>
      preparedMs === undefined ? "" : humanDuration(now - preparedMs),
  },
  { title: "REQUESTS", value: ({ device }) => device?.requests.join(",") ?? "", wide: true },
  { title: "CDI", value: ({ device }) => device?.cdiDevices.join(",") ?? "", wide: true },
];

const deviceText = ({ pool, device, share }: Device): string =>
  `${pool}/${device}${share === undefined ? "" : ` (share ${share})`}`;

/** A line for each driver, a table of the claims' devices, and which pods wait for what; nothing where there is nothing. */
export function renderClaims(
  { drivers, claims, waiting }: ClaimReport,
  { now, wide, paint }: ClaimsShown,
): readonly string[] {
  const lines = drivers.map(({ name, state, sockets }) => {
    const many = sockets.length > 1 ? `, ${sockets.length} instances` : "";
    return `${name}: DRA driver ${state}${many}`;
  });
  const rows = claimRows(claims).map((row): Row => ({ ...row, now }));
  const waits = waiting.map(({ pod, for: what, claims: names, reason, sinceMs }) => {
    const whose = `${names.length === 1 ? "claim" : "claims"} ${names.join(", ")}`;
    const until = what === "preparation" ? `for its ${whose}` : `for the end of its ${whose}`;
    return `${pod} has waited ${humanDuration(now - sinceMs)} ${until}: ${reason}`;
  });
  const parts = [
    lines,
    rows.length === 0 ? [] : renderTable(COLUMNS, rows, { wide, paint }),
    waits,
  ].filter(({ length }) => length > 0);
  return parts.flatMap((part, i) => (i === 0 ? part : ["", ...part]));
}

/** The devices of claims, and drivers that have named none. */
export function claimRows(claims: ClaimReport["claims"]): readonly ClaimRow[] {
  return claims.flatMap((claim) => {
    const { devices, withoutDevices } = claim;
    const none = devices.length + withoutDevices.length === 0 ? [""] : withoutDevices;
    return [
      ...devices.map((device) => ({ claim, driver: device.driver, device })),
      ...none.map((driver) => ({ claim, driver })),
    ];
  });
}
