// pure
/** The screen of `nodelet up`: node, pods and events in as many lines as the terminal has. */

import { humanDuration } from "../api/text/human-duration.ts";
import { largest } from "../kit/limits/lists.ts";
import { humanBytes } from "./amounts.ts";
import type { EventRow } from "./tables/event-row.ts";
import { eventStyle } from "./tables/event-row.ts";
import type { NodeSummary } from "./tables/node-summary.ts";
import type { PodRow } from "./tables/pod-row.ts";
import { type Column, renderTable } from "./tables/table.ts";
import { counted, cutText, oneLine, type Paint, padText, textWidth } from "./text.ts";

/** Content of the screen. */
export interface Screen {
  /** `undefined` while the agent does not answer. */
  readonly node: NodeSummary | undefined;
  readonly pods: readonly PodRow[];
  /** Oldest first. */
  readonly events: readonly EventRow[];
  /** Messages of `up` itself, oldest first. */
  readonly notices: readonly string[];
  /** Hints for the user, e.g. how to leave. */
  readonly footer: readonly string[];
  /** Unix milliseconds. */
  readonly now: number;
}

/** The terminal. */
interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

const SHOWN_NOTICES = 3;
const MIN_EVENTS = 3;
const MAX_EVENTS = 10;
/** A blank line and a title. */
const EVENTS_HEAD = 2;

/** The lines of the screen: never more than `rows`, none wider than `columns`. */
export function renderScreen(screen: Screen, size: ScreenSize, paint: Paint): readonly string[] {
  const head = renderHead(screen, size, paint);
  const notices = screen.notices
    .slice(-SHOWN_NOTICES)
    .map((text) => paint("yellow", cutText(oneLine(text), size.columns)));
  const footer = screen.footer.map((text) => paint("dim", cutText(text, size.columns)));
  const blocks = [head, notices].filter((lines) => lines.length > 0);
  // A blank line after each block and before the footer, and the titles of the pods.
  const fixed = blocks.reduce((sum, lines) => sum + lines.length + 1, footer.length + 2);
  const share = shareLines(size.rows - fixed, screen.pods.length, screen.events.length);
  const pods = renderPods(screen.pods, { lines: share.pods, columns: size.columns }, paint);
  const recent = share.events === 0 ? [] : screen.events.slice(-share.events);
  const events = renderEvents(recent, size.columns, paint);
  const body = [...blocks, pods, events].filter((lines) => lines.length > 0);
  const lines = body.flatMap((block, i) => (i === 0 ? block : ["", ...block]));
  const kept = lines.slice(0, Math.max(0, size.rows - footer.length - 1));
  return [...kept, "", ...footer].slice(-size.rows);
}

/** How many of the free lines pods and events get: pods first, but a few events if there is any space. */
function shareLines(
  free: number,
  pods: number,
  events: number,
): { readonly pods: number; readonly events: number } {
  const podLines = Math.max(1, pods);
  const available = free - EVENTS_HEAD;
  const few = Math.min(events, MIN_EVENTS, Math.floor(available / 2));
  const eventLines = Math.min(events, MAX_EVENTS, Math.max(few, available - podLines));
  if (eventLines <= 0) return { pods: Math.max(1, free), events: 0 };
  return { pods: Math.max(1, available - eventLines), events: eventLines };
}

function renderHead(
  { node, now }: Screen,
  { columns }: ScreenSize,
  paint: Paint,
): readonly string[] {
  if (node === undefined)
    return [paint("yellow", cutText("The agent does not answer yet", columns))];
  const state = node.ready ? "Ready" : "NotReady";
  const left = `${oneLine(node.name)}  `;
  const right = `nodelet ${node.version} on ${node.runtime}, ${humanDuration(now - node.startedAt)}`;
  const gap = columns - textWidth(left) - textWidth(state) - textWidth(right);
  const painted = paint("bold", left) + paint(node.ready ? "green" : "red", state);
  const first = gap >= 2 ? painted + " ".repeat(gap) + paint("dim", right) : painted;
  const figures = cutText(figuresOf(node), columns);
  const why =
    node.ready || node.why === "" ? [] : [paint("red", cutText(oneLine(node.why), columns))];
  const problems = node.problems.map((text) => paint("red", cutText(oneLine(text), columns)));
  return [first, figures, ...why, ...problems.slice(0, SHOWN_NOTICES)];
}

function figuresOf({ cpuMilli, memoryBytes, pods }: NodeSummary): string {
  const cores = cpuMilli.capacity / 1000;
  const cpu =
    cpuMilli.used === undefined
      ? counted(cores, "core")
      : `cpu ${(cpuMilli.used / 1000).toFixed(2)} of ${counted(cores, "core")}`;
  const memory =
    memoryBytes.used === undefined
      ? `memory ${humanBytes(memoryBytes.capacity)}`
      : `memory ${humanBytes(memoryBytes.used)} of ${humanBytes(memoryBytes.capacity)}`;
  return [cpu, memory, `pods ${pods.count} of ${pods.max}`].join("   ");
}

const POD_COLUMNS: readonly Column<PodRow>[] = [
  {
    title: "POD",
    value: ({ namespace, name }) => (namespace === "default" ? name : `${namespace}/${name}`),
  },
  { title: "READY", value: ({ ready }) => ready },
  { title: "STATUS", value: ({ status }) => status, style: ({ style }) => style },
  { title: "RESTARTS", value: ({ restarts }) => restarts },
  { title: "AGE", value: ({ age }) => age },
  { title: "WHY", value: ({ why }) => why || " ", style: () => "dim" },
];

function renderPods(
  rows: readonly PodRow[],
  limit: { readonly lines: number; readonly columns: number },
  paint: Paint,
): readonly string[] {
  if (rows.length === 0)
    return [
      paint("dim", cutText("No pods: put a manifest into the folder of manifests.", limit.columns)),
    ];
  const hidden = rows.length > limit.lines ? rows.length - Math.max(0, limit.lines - 1) : 0;
  const shown = hidden === 0 ? rows : sortedByNeed(rows).slice(0, rows.length - hidden);
  const table = renderTable(POD_COLUMNS, shown, { paint, columns: limit.columns });
  return hidden === 0 ? table : [...table, paint("dim", `… and ${hidden} more`)];
}

/** When not all pods fit, those that need attention come first. */
function sortedByNeed(rows: readonly PodRow[]): readonly PodRow[] {
  const rank = ({ style }: PodRow) => ["red", "yellow"].indexOf(style ?? "") >>> 0;
  return rows.toSorted((a, b) => rank(a) - rank(b));
}

function renderEvents(rows: readonly EventRow[], columns: number, paint: Paint): readonly string[] {
  if (rows.length === 0) return [];
  const ageWidth = largest(rows.map(({ lastSeen }) => textWidth(lastSeen)));
  const lines = rows.map(({ lastSeen, type, reason, object, message }) => {
    const style = eventStyle(type);
    const age = padText(lastSeen, ageWidth, "right");
    const text = `${age}  ${oneLine(`${reason}  ${object}  ${message}`)}`;
    const cut = cutText(text, columns);
    return style === undefined ? cut : paint(style, cut);
  });
  return [paint("bold", "EVENTS"), ...lines];
}
