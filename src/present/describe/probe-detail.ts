// pure

import { humanDuration } from "../../api/text/human-duration.ts";
import { preciseText, spokenDuration } from "../amounts.ts";
import type { ProbeReport } from "../shapes.ts";
import { type Column, renderTable } from "../tables/table.ts";
import type { Paint } from "../text.ts";
import { field, renderFields } from "./fields.ts";

type ProbeRecord = ProbeReport["history"][number];

/** The probes of one pod, each with its state and its last attempts, at `now` in Unix milliseconds. */
export function describeProbes(
  probes: readonly ProbeReport[],
  now: number,
  paint: Paint,
): readonly string[] {
  return probes.flatMap((probe, i) => [
    ...(i > 0 ? [""] : []),
    paint("bold", `${probe.namespace}/${probe.podName} ${probe.container} ${probe.kind}`),
    ...renderFields(fieldsOf(probe), "  "),
    ...renderTable(columnsAt(now), probe.history, { paint }).map((line) => `  ${line}`),
  ]);
}

function fieldsOf(probe: ProbeReport) {
  const { handler, periodMs, timeoutMs, verdict, run, counts, killed } = probe;
  const every = `period ${preciseText(periodMs)}, timeout ${preciseText(timeoutMs)}`;
  const last = run
    ? `${run.length === 1 ? "last attempt" : `last ${run.length} attempts`}: ${run.result}`
    : "";
  return [
    field("Handler", `${handler}, ${every}`),
    field("Result", [verdict ?? "none yet", last].filter((text) => text !== "").join("; ")),
    field("Now", doingText(probe)),
    field(
      "Attempts",
      `${counts.successful} succeeded, ${counts.failed} failed, ${counts.unknown} errors`,
    ),
    field("Duration", costText(probe)),
    ...(killed > 0 ? [field("Killed", `${killed} processes left by timed-out attempts`)] : []),
  ];
}

function doingText({ doing, nextInMs }: ProbeReport): string {
  const next = nextInMs === undefined ? "" : `next attempt in ${spokenDuration(nextInMs)}`;
  switch (doing?.kind) {
    case undefined:
      return next;
    case "probing":
      return "running";
    case "probe":
      return next;
    case "wait":
      return `waiting: ${doing.why}${next === "" ? "" : `; ${next}`}`;
    case "exit":
      return `finished: ${doing.why}`;
    default:
      return doing satisfies never;
  }
}

/** Average duration of an attempt, and the share of one second that this comes to. */
function costText({ counts, busyMs, periodMs }: ProbeReport): string {
  const total = counts.successful + counts.failed + counts.unknown;
  if (total === 0) return "";
  const each = busyMs / total;
  return `${each.toFixed(1)} ms on average, ${((each / periodMs) * 1000).toFixed(1)} ms per second`;
}

const STYLE: Readonly<Record<ProbeRecord["result"], "green" | "red" | "yellow">> = {
  success: "green",
  warning: "yellow",
  failure: "red",
  error: "red",
};

const columnsAt = (now: number): readonly Column<ProbeRecord>[] => [
  { title: "WHEN", value: ({ atMs }) => `${humanDuration(now - atMs)} ago` },
  { title: "TOOK", value: ({ durationMs }) => `${durationMs.toFixed(1)} ms`, align: "right" },
  { title: "LATE", value: ({ lateMs }) => `${Math.max(0, lateMs).toFixed(1)} ms`, align: "right" },
  { title: "RESULT", value: ({ result }) => result, style: ({ result }) => STYLE[result] },
  { title: "SAID", value: ({ output }) => output },
];
