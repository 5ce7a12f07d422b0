// pure
import type { CoreEvent, Pod } from "../../../api/generated/types.ts";
import { rfc3339 } from "../../../api/text/timestamps.ts";
import type { WallMs } from "../../../kit/clock.ts";
import { eventTime } from "../tables/event-row.ts";
import { podRow } from "../tables/pod-row.ts";
import { oneLine, type Paint, padText, textWidth, wrapText } from "../text.ts";
import { type StoryStep, storyTitle } from "./why.ts";

/** A pod's story up to now. */
export interface Story {
  /** `namespace/name`. */
  readonly name: string;
  /** Oldest first. */
  readonly steps: readonly StoryStep[];
  /** Warnings of the same time, oldest first: what happened rather than what was decided. */
  readonly warnings: readonly CoreEvent[];
  /** The pod as it is; `undefined` when it is gone or no agent runs. */
  readonly pod: Pod | undefined;
}

interface Line {
  readonly atMs: number;
  readonly title: string;
  readonly text: string;
  readonly uid: string | undefined;
  readonly warning: boolean;
}

const MIN_TEXT_COLUMNS = 30;

/** The story in lines, times of day in UTC, texts wrapped at `columns`. */
export function renderStory(
  story: Story,
  view: { readonly now: number; readonly columns: number; readonly paint: Paint },
): readonly string[] {
  const { paint, columns } = view;
  const lines = [...story.steps.map(stepLine), ...story.warnings.map(warningLine)].toSorted(
    (a, b) => a.atMs - b.atMs,
  );
  const width = Math.max(0, ...lines.map(({ title }) => textWidth(title)));
  const indent = " ".repeat("hh:mm:ss".length + width + 4);
  const textColumns = Math.max(MIN_TEXT_COLUMNS, columns - indent.length);
  let day = "";
  let uid: string | undefined;
  const told = lines.flatMap(({ atMs, title, text, uid: of, warning }) => {
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
  return [paint("bold", oneLine(story.name)), ...told, ...renderNow(story, view)];
}

function stepLine({ atMs, kind, text, times, uid }: StoryStep): Line {
  const again = times > 1 ? ` (${times} times)` : "";
  return { atMs, title: storyTitle(kind), text: `${text}${again}`, uid, warning: false };
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
  { pod }: Story,
  {
    now,
    columns,
    paint,
  }: { readonly now: number; readonly columns: number; readonly paint: Paint },
): readonly string[] {
  if (pod === undefined) return [];
  const { status, ready, restarts, age, why, style } = podRow(pod, now);
  const told = `${ready} ready, ${restarts === "0" ? "no restarts" : `restarts ${restarts}`}, age ${age}`;
  const painted = style === undefined ? status : paint(style, status);
  return [
    "",
    `Now: ${painted}, ${told}`,
    ...wrapText(oneLine(why), columns - 2).map((l) => `  ${l}`),
  ];
}
