// pure

import type { CoreEvent, Pod } from "../../api/generated/types.ts";
import { rfc3339 } from "../../api/text/timestamps.ts";
import type { WallMs } from "../../kit/clock.ts";
import { largest } from "../../kit/limits/lists.ts";
import type { PartVerdict } from "../control-plane/judge-control-plane.ts";
import type { CsiReport } from "../shapes.ts";
import { eventTime } from "../tables/event-row.ts";
import { podRow } from "../tables/pod-row.ts";
import { volumeStory } from "../tables/volume-table.ts";
import { oneLine, type Paint, padText, textWidth, wrapText } from "../text.ts";
import type { HistoryStep } from "./why.ts";

/** A pod's history up to now. */
interface HistoryView {
  /** `namespace/name`. */
  readonly name: string;
  /** Oldest first. */
  readonly steps: readonly HistoryStep[];
  /** Warnings of the same time, oldest first: what happened rather than what was decided. */
  readonly warnings: readonly CoreEvent[];
  /** The pod as it is; `undefined` when it is gone or no agent runs. */
  readonly pod: Pod | undefined;
  /** Volumes of CSI drivers that it waits for, or that wait to be taken away from it. */
  readonly volumes?: CsiReport["volumes"];
  /** Verdicts on the component of the control plane that it is. */
  readonly verdicts?: readonly PartVerdict[];
}

interface Line {
  readonly atMs: number;
  readonly title: string;
  readonly text: string;
  readonly uid: string | undefined;
  readonly warning: boolean;
}

const MIN_TEXT_COLUMNS = 30;

/** The history in lines, times of day in UTC, texts wrapped at `columns`. */
export function renderHistory(
  history: HistoryView,
  view: { readonly now: number; readonly columns: number; readonly paint: Paint },
): readonly string[] {
  const { paint, columns } = view;
  const lines = linesOf(history);
  const width = largest(
    lines.map(({ title }) => textWidth(title)),
    0,
  );
  const indent = " ".repeat("hh:mm:ss".length + width + 4);
  const textColumns = Math.max(MIN_TEXT_COLUMNS, columns - indent.length);
  let day = "";
  let uid: string | undefined;
  const steps = lines.flatMap(({ atMs, title, text, uid: of, warning }) => {
    const stamp = rfc3339(atMs as WallMs);
    const heading: string[] = [];
    if (stamp.slice(0, 10) !== day) {
      day = stamp.slice(0, 10);
      heading.push(paint("dim", day));
    }
    if (of !== undefined && of !== uid) {
      if (uid !== undefined) heading.push(paint("dim", `another pod of the same name, uid ${of}`));
      uid = of;
    }
    const [first = "", ...more] = wrapText(text, textColumns);
    const style = warning ? "yellow" : "bold";
    const head = `${stamp.slice(11, 19)}  ${paint(style, padText(title, width))}  ${first}`;
    return [...heading, head, ...more.map((line) => indent + line)];
  });
  return [paint("bold", oneLine(history.name)), ...steps, ...renderNow(history, view)];
}

/** Steps and warnings in the order of cause; of a step and a warning about the same, the step is shown. */
function linesOf({ steps, warnings }: HistoryView): readonly Line[] {
  const places = steps.map((): Line[] => []);
  const last: Line[] = [];
  for (const event of warnings) {
    if (isCoveredBy(steps, event)) continue;
    (places[placeOf(event, steps)] ?? last).push(warningLine(event));
  }
  return [...steps.flatMap((step, i) => [...(places[i] ?? []), stepLine(step)]), ...last];
}

function stepLine({ atMs, title, text, times, uid }: HistoryStep): Line {
  const again = times > 1 ? ` (${times} times)` : "";
  return { atMs, title, text: `${text}${again}`, uid, warning: false };
}

/** Reasons of warnings that say what the outcome of a step says. */
const SHOWN_BY_OUTCOMES: ReadonlySet<string> = new Set([
  "BackOff",
  "ErrImageNeverPull",
  "Evicted",
  "Failed",
  "FailedCreatePodContainer",
  "FailedCreatePodSandBox",
  "FailedKillPod",
  "FailedMount",
  "FailedPostStartHook",
  "FailedSync",
  "InspectFailed",
  "NetworkNotReady",
  "Preempting",
  "ResizeDeferred",
  "ResizeInfeasible",
]);

/** Steps of agents that kept no outcomes leave it to the warnings to say what happened. */
function isCoveredBy(steps: readonly HistoryStep[], event: CoreEvent): boolean {
  const { reason = "", message = "", involvedObject } = event;
  const own = steps.filter(({ uid }) => uid === involvedObject.uid);
  const reported = oneLine(message).replace(/\.+$/, "");
  if (reported !== "" && own.some(({ text }) => text.includes(reported))) return true;
  return SHOWN_BY_OUTCOMES.has(reason) && own.some(({ hasOutcome }) => hasOutcome);
}

/** Kind of decision that follows from a warning, by the warning's reason; shown after the warning. */
const CONSEQUENCES: Readonly<Record<string, string>> = {
  Unhealthy: "killContainer",
  OOMKilling: "containerExited",
  FailedPreStopHook: "containerExited",
};

/** The step before which a warning is shown. Events have seconds only: within it what they caused comes after them. */
function placeOf(event: CoreEvent, steps: readonly HistoryStep[]): number {
  const { reason = "", involvedObject } = event;
  const atMs = eventTime(event);
  const untilMs = atMs % 1000 === 0 ? atMs + 1000 : atMs;
  const isCaused = ({ uid, kind, atMs: stepMs }: HistoryStep) =>
    uid === involvedObject.uid &&
    kind === CONSEQUENCES[reason] &&
    stepMs >= atMs &&
    stepMs < untilMs;
  const caused = steps.findIndex(isCaused);
  if (caused >= 0) return caused;
  const beginMs = reason === "FailedScheduling" ? atMs : untilMs;
  const next = steps.findIndex((step) => step.atMs >= beginMs);
  return next < 0 ? steps.length : next;
}

function warningLine(event: CoreEvent): Line {
  const { reason = "", message = "", count = 1 } = event;
  const again = count > 1 ? ` (${count} times)` : "";
  return {
    atMs: eventTime(event),
    title: oneLine(reason),
    text: `${oneLine(message)}${again}`,
    uid: event.involvedObject.uid,
    warning: true,
  };
}

function renderNow(
  { pod, volumes = [], verdicts = [] }: HistoryView,
  { now, columns, paint }: Parameters<typeof renderHistory>[1],
): readonly string[] {
  if (pod === undefined) return [];
  const { status, ready, restarts, age, why, style } = podRow(pod, now);
  const counts = `${ready} ready, ${restarts === "0" ? "no restarts" : `restarts ${restarts}`}, age ${age}`;
  const painted = style === undefined ? status : paint(style, status);
  return [
    "",
    `Now: ${painted}, ${counts}`,
    ...[
      oneLine(why),
      ...volumes.map((volume) => `Volume ${volumeStory(volume)}`),
      ...verdicts.filter(({ found }) => found !== why).map(verdictText),
    ].flatMap((text) => wrapText(text, columns - 2).map((l) => `  ${l}`)),
  ];
}

function verdictText({ name, found, fix }: PartVerdict): string {
  const text = `Control plane: ${name}: ${oneLine(found)}`;
  return fix === "" || fix.startsWith("nodelet why") ? text : `${text}; fix: ${oneLine(fix)}`;
}
