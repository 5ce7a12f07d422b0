/** Resource claims: their drivers, the devices that they give, and the pods that wait. */
import { type ComponentChild, h } from "preact";
import { humanDuration } from "../../api/text/human-duration.ts";
import type { ClaimReport } from "../../present/shapes.ts";
import { type ClaimRow, claimRows, HEALTH_STYLES } from "../../present/tables/claim-table.ts";
import { Table, type TableColumn } from "./table.ts";

const COLUMNS: readonly TableColumn<ClaimRow>[] = [
  { title: "Claim", value: ({ claim }) => `${claim.namespace}/${claim.name}` },
  { title: "Driver", value: ({ driver }) => driver },
  { title: "Device", value: ({ device }) => device && `${device.pool}/${device.device}` },
  {
    title: "Health",
    value: ({ device }) => device?.health.toLowerCase(),
    style: ({ device }) => device && HEALTH_STYLES[device.health],
  },
  {
    title: "State",
    value: ({ claim }) => claim.state,
    style: ({ claim }) => (claim.state === "prepared" ? "green" : "yellow"),
  },
  { title: "Pods", value: ({ claim }) => claim.pods.join(", ") },
];

/** A section for the claims of the node; nothing where no driver has registered and no claim is there. */
export function ClaimsSection({ report }: { readonly report: ClaimReport }): ComponentChild {
  const { drivers, claims, waiting } = report;
  if (drivers.length + claims.length + waiting.length === 0) return null;
  const now = Date.now();
  return h(
    "section",
    null,
    h("h2", null, "Resource claims"),
    h("p", null, drivers.map(({ name, state }) => `Driver ${name} ${state}`).join("; ")),
    h(Table<ClaimRow>, {
      caption: "Devices of resource claims",
      columns: COLUMNS,
      rows: claimRows(claims),
      keyOf: ({ claim, driver, device }) =>
        [claim.uid, driver, device?.pool, device?.device, device?.share].join(" "),
      empty: "No claim is prepared.",
    }),
    waiting.length > 0 &&
      h(
        "ul",
        null,
        waiting.map(({ pod, claims: names, reason, sinceMs }) => {
          const since = humanDuration(now - sinceMs);
          const text = `${pod} has waited ${since} for ${names.join(", ")}: ${reason}`;
          return h("li", { key: pod }, text);
        }),
      ),
  );
}
