// pure

import { humanDuration } from "../api/text/human-duration.ts";
import type {
  EvictionReport,
  ReportedPod,
  ReportedSignal,
} from "../subsystems/eviction/eviction.ts";
import { type Column, renderTable } from "./tables/table.ts";
import { oneLine, type Paint } from "./text.ts";

/** Eviction thresholds beside what is left, or why they are missing. */
export type RequestedSignals =
  | { readonly kind: "signals"; readonly signals: readonly ReportedSignal[] }
  | { readonly kind: "missing"; readonly why: string };

const STATES: Readonly<Record<ReportedSignal["state"], string>> = {
  unknown: "not measured",
  unmet: "not met",
  met: "met",
  unresolved: "met before, minimum reclaim not reached yet",
};

const SIGNAL_COLUMNS: readonly Column<ReportedSignal>[] = [
  { title: "SIGNAL", value: ({ signal }) => signal },
  { title: "AVAILABLE", value: ({ available = "" }) => available, align: "right" },
  { title: "CAPACITY", value: ({ capacity = "" }) => capacity, align: "right" },
  { title: "THRESHOLD", value: ({ threshold = "" }) => threshold, align: "right" },
  { title: "KIND", value: ({ kind }) => kind },
  {
    title: "STATE",
    value: stateText,
    style: ({ state }) => (state === "unmet" ? undefined : "yellow"),
  },
];

function stateText({ state, graceLeftMs = 0, metInMs }: ReportedSignal): string {
  if (state === "met" && graceLeftMs > 0) return `met, acts in ${humanDuration(graceLeftMs)}`;
  if (metInMs === undefined) return STATES[state];
  return `${STATES[state]}; at the present rate in ${humanDuration(metInMs)}`;
}

/** Each threshold beside what is left, as a table, or why that is missing. No thresholds are no lines. */
export function renderSignals(asked: RequestedSignals, paint: Paint): readonly string[] {
  return signalLines(asked, SIGNAL_COLUMNS, paint);
}

/** As `renderSignals`, with titles in the style of `kubectl describe`. */
export function describeSignals(asked: RequestedSignals, paint: Paint): readonly string[] {
  const columns = SIGNAL_COLUMNS.map((column) => ({
    ...column,
    title: `${column.title.slice(0, 1)}${column.title.slice(1).toLowerCase()}`,
  }));
  return signalLines(asked, columns, paint);
}

function signalLines(
  asked: RequestedSignals,
  columns: readonly Column<ReportedSignal>[],
  paint: Paint,
): readonly string[] {
  if (asked.kind === "missing")
    return [paint("red", `failed to read eviction signals: ${oneLine(asked.why)}`)];
  const { signals } = asked;
  return signals.length === 0 ? [] : renderTable(columns, signals, { paint, wide: false });
}

const FATES: Readonly<Record<ReportedPod["fate"], string>> = {
  goes: "goes",
  next: "",
  stays: "stays",
};

const POD_COLUMNS: readonly Column<ReportedPod>[] = [
  { title: "POD", value: ({ name }) => oneLine(name) },
  { title: "USES", value: ({ used = "" }) => used, align: "right" },
  { title: "REQUESTS", value: ({ requested }) => requested, align: "right" },
  { title: "PRIORITY", value: ({ priority }) => String(priority), align: "right" },
  {
    title: "FATE",
    value: ({ fate }) => FATES[fate],
    style: ({ fate }) => (fate === "goes" ? "red" : undefined),
  },
  { title: "WHY", value: ({ why }) => why },
];

/** Renders the result of a dry run of eviction. */
export function renderEviction(report: EvictionReport, paint: Paint): readonly string[] {
  const { signals, excesses, pressure } = report;
  const view = { paint, wide: false };
  return [
    ...renderTable(SIGNAL_COLUMNS, signals, view),
    "",
    ...excesses.map(
      ({ name, message }) => `${oneLine(name)} would be evicted: ${oneLine(message)}`,
    ),
    ...(pressure ? pressureLines(pressure, paint) : excesses.length > 0 ? [] : [NOTHING]),
  ];
}

const NOTHING = "No pod would be evicted.";

function pressureLines(
  { signal, resource, reclaim, message, pods }: NonNullable<EvictionReport["pressure"]>,
  paint: Paint,
): readonly string[] {
  const first =
    reclaim.length === 0
      ? "there is nothing of the node itself to reclaim"
      : `first ${reclaim.map((step) => STEPS[step] ?? step).join(", then ")} would be removed`;
  return [
    `${resource} is short (${signal}): ${first}.`,
    orderLine(message !== undefined, reclaim.length > 0),
    ...(message === undefined ? [] : [`  ${oneLine(message)}`]),
    "",
    ...renderTable(POD_COLUMNS, pods, { paint, wide: false }),
  ];
}

function orderLine(mayGo: boolean, isReclaimed: boolean): string {
  if (!mayGo) return "No pod may be evicted.";
  return isReclaimed
    ? "If that is not enough, pods would be evicted in this order:"
    : "Pods would be evicted in this order:";
}

const STEPS: Readonly<Record<string, string>> = {
  containers: "containers that have ended",
  images: "images that nothing uses",
};
