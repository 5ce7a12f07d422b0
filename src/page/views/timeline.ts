/** Decisions, outcomes, events and probes on one time axis, and the same as a list. */
import { type ComponentChild, h } from "preact";

const LANES = ["decision", "outcome", "event", "probe"] as const;

/** One thing that happened. */
export interface TimelineEntry {
  /** Unix milliseconds. */
  readonly atMs: number;
  readonly lane: (typeof LANES)[number];
  readonly title: string;
  readonly text: string;
  readonly isWarning?: boolean;
}

const WIDTH = 1_000;
const LANE_HEIGHT = 22;
const LABEL_WIDTH = 80;
const MARK_RADIUS = 5;
const TICKS = 5;
/** A pod's first second is spread over the whole axis, not shorter. */
const MIN_SPAN_MS = 1_000;

/** The axis above the list, latest first. */
export function Timeline({
  entries,
}: {
  readonly entries: readonly TimelineEntry[];
}): ComponentChild {
  if (entries.length === 0)
    return h("p", { class: "empty" }, "Nothing has been recorded for this pod yet.");
  const sorted = entries.toSorted((a, b) => a.atMs - b.atMs);
  const from = sorted[0]?.atMs ?? 0;
  const span = Math.max(MIN_SPAN_MS, Date.now() - from);
  return h(
    "section",
    { "aria-label": "Timeline" },
    h("h3", null, "Timeline"),
    h(
      "p",
      { class: "legend" },
      "Latest first. On the axis, what failed stands out in another colour.",
    ),
    h(
      "div",
      { class: "wide", tabIndex: 0, role: "region", "aria-label": "Time axis" },
      h(Axis, { entries: sorted, from, span }),
    ),
    h(
      "ol",
      { class: "timeline" },
      sorted
        .toReversed()
        .map((entry, at) =>
          h(
            "li",
            { key: sorted.length - at, class: entry.isWarning ? "warning" : "" },
            h("time", { dateTime: new Date(entry.atMs).toISOString() }, timeOfDay(entry.atMs)),
            h("span", { class: `lane ${entry.lane}` }, entry.lane),
            h("strong", null, entry.title),
            h("span", null, entry.text),
          ),
        ),
    ),
  );
}

function Axis({
  entries,
  from,
  span,
}: {
  readonly entries: readonly TimelineEntry[];
  readonly from: number;
  readonly span: number;
}): ComponentChild {
  const x = (atMs: number) =>
    LABEL_WIDTH + ((atMs - from) / span) * (WIDTH - LABEL_WIDTH - 2 * MARK_RADIUS) + MARK_RADIUS;
  const bottom = LANES.length * LANE_HEIGHT;
  const ticks = Array.from({ length: TICKS }, (_, at) => from + (span * at) / (TICKS - 1));
  return h(
    "svg",
    {
      viewBox: `0 0 ${WIDTH} ${bottom + LANE_HEIGHT}`,
      class: "axis",
      role: "img",
      "aria-label": `${entries.length} entries from ${timeOfDay(from)} to now; the list below has them all`,
    },
    LANES.map((lane, at) => [
      h("text", { x: 0, y: at * LANE_HEIGHT + 15, class: "label" }, lane),
      h("line", {
        x1: LABEL_WIDTH,
        x2: WIDTH,
        y1: at * LANE_HEIGHT + LANE_HEIGHT / 2,
        y2: at * LANE_HEIGHT + LANE_HEIGHT / 2,
        class: "grid",
      }),
    ]),
    ticks.map((tick, at) =>
      h(
        "text",
        {
          x: x(tick),
          y: bottom + 15,
          class: "label",
          "text-anchor": at === 0 ? "start" : at === TICKS - 1 ? "end" : "middle",
        },
        timeOfDay(tick),
      ),
    ),
    entries.map(({ atMs, lane, title, text, isWarning }) =>
      h(
        "circle",
        {
          cx: x(atMs),
          cy: LANES.indexOf(lane) * LANE_HEIGHT + LANE_HEIGHT / 2,
          r: MARK_RADIUS,
          class: `mark ${lane}${isWarning ? " warning" : ""}`,
        },
        h("title", null, `${timeOfDay(atMs)} ${title}: ${text}`),
      ),
    ),
  );
}

/** `hh:mm:ss` of the reader's clock. */
function timeOfDay(atMs: number): string {
  return new Date(atMs).toTimeString().slice(0, 8);
}
