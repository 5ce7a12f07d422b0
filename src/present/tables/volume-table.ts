// pure

import { spokenDuration } from "../amounts.ts";
import type { CsiReport } from "../shapes.ts";
import { counted, oneLine, type Paint } from "../text.ts";
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

function problemOf(volume: Volume): readonly string[] {
  const { problem, forSeconds } = volume;
  return problem === undefined && forSeconds === undefined ? [] : [volumeStory(volume)];
}

/** Where a volume stands with which something is not done: step, since when, what it waits for, what was said last. */
export function volumeStory(volume: Volume): string {
  const { name, driver, step, forSeconds, waitsFor, problem, failures, retryInSeconds } = volume;
  const at = step === undefined ? "" : ` at ${step}`;
  const since = forSeconds === undefined ? "" : ` for ${spokenDuration(forSeconds * 1000)}`;
  const waits = waitsFor === undefined ? "" : `, waits for ${waitsFor}`;
  const again =
    failures === undefined
      ? ""
      : ` (failed ${counted(failures, "time")}; next attempt in ${retryInSeconds} s)`;
  const why = problem === undefined ? "" : `: ${problem}`;
  return oneLine(`${name} of ${driver}${at}${since}${waits}${why}${again}`);
}
