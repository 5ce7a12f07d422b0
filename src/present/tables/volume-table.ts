// pure
import type { CsiReport } from "../shapes.ts";
import type { Paint } from "../text.ts";
import { type Column, renderTable } from "./table.ts";

type Volume = CsiReport["volumes"][number];

const STAGED = { none: undefined, uncertain: "yellow", staged: "green" } as const;

const COLUMNS: readonly Column<Volume>[] = [
  { title: "VOLUME", value: ({ name }) => name },
  { title: "DRIVER", value: ({ driver }) => driver },
  { title: "KIND", value: ({ kind }) => kind },
  { title: "ATTACHED BY", value: ({ attaches }) => ATTACHES[attaches] },
  {
    title: "STAGED",
    value: ({ kind, staged }) => (kind === "inline" ? "-" : staged),
    style: ({ staged }) => STAGED[staged],
  },
  {
    title: "PODS",
    value: ({ pods }) => pods.map(({ pod, state }) => `${pod} (${state})`).join(", "),
  },
  { title: "DOING", value: ({ doing = "" }) => doing },
  { title: "HANDLE", value: ({ handle }) => handle, wide: true },
];

const ATTACHES: Readonly<Record<Volume["attaches"], string>> = {
  yes: "controller",
  no: "nobody",
  unknown: "unknown",
};

/** A line for each driver, a table of volumes, and what keeps any of them from going on. */
export function renderVolumes(
  { drivers, volumes }: CsiReport,
  { wide, paint }: { readonly wide: boolean; readonly paint: Paint },
): readonly string[] {
  const lines =
    drivers.length === 0
      ? ["No CSI driver has registered."]
      : drivers.map(
          ({ name, version, nodeId, maxVolumes }) =>
            `${name} ${version}: node ${nodeId}${maxVolumes === undefined ? "" : `, at most ${maxVolumes} volumes`}`,
        );
  const table = volumes.length === 0 ? [] : ["", ...renderTable(COLUMNS, volumes, { wide, paint })];
  const problems = volumes.flatMap((volume) => problemOf(volume));
  return [...lines, ...table, ...(problems.length === 0 ? [] : ["", ...problems])];
}

function problemOf({ name, problem, failures, retryInSeconds }: Volume): readonly string[] {
  if (problem === undefined) return [];
  const again =
    failures === undefined
      ? ""
      : ` (failed ${failures} times; next attempt in ${retryInSeconds} s)`;
  return [`${name}: ${problem}${again}`];
}
