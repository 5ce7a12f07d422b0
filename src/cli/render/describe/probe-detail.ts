// pure

import { humanDuration } from "../../../api/text/human-duration.ts";
import type { ProbeReport } from "../../client/shapes.ts";
import { preciseText, spokenDuration } from "../amounts.ts";
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
  const every = `every ${preciseText(periodMs)}, with ${preciseText(timeoutMs)} to answer`;
  const last = run
    ? `${run.length === 1 ? "the last look" : `the last ${run.length} looks`}: ${run.result}`
    : "";
  return [
    field("Looks", `${handler}, ${every}`),
    field("Says", [verdict ?? "nothing yet", last].filter((text) => text !== "").join("; ")),
    field("Now", doingText(probe)),
    field("So far", `${counts.successful} good, ${counts.failed} failed, ${counts.unknown} errors`),
    field("Takes", costText(probe)),
    ...(killed > 0 ? [field("Ended", `${killed} processes that outlasted their time`)] : []),
  ];
}

function doingText({ doing, nextInMs }: ProbeReport): string {
  const next = nextInMs === undefined ? "" : `next turn in ${spokenDuration(nextInMs)}`;
  switch (doing?.kind) {
    case undefined:
      return next;
    case "looking":
      return "looks";
    case "probe":
      return next;
    case "wait":
      return `waits: ${doing.why}${next === "" ? "" : `; ${next}`}`;
    case "exit":
      return `has nothing to do any more: ${doing.why}`;
    default:
      return doing satisfies never;
  }
}

/** Average duration of an attempt, and the share of one second that this comes to. */
function costText({ counts, busyMs, periodMs }: ProbeReport): string {
  const total = counts.successful + counts.failed + counts.unknown;
  if (total === 0) return "";
  const each = busyMs / total;
  return `${each.toFixed(1)} ms on average, ${((each / periodMs) * 1000).toFixed(1)} ms a second`;
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
