// What `nodelet why` prints of a pod, in a form that can be compared.
import type { PodHistory } from "../../../src/client/pod-history.ts";
import { problemText } from "../../../src/present/problem/pod-problem.ts";
import { plainPaint } from "../../../src/present/text.ts";
import { renderHistory } from "../../../src/present/why/history.ts";
import { stepsOf } from "../../../src/present/why/off-node.ts";

const COLUMNS = 10_000;

/** What is printed of a pod, without times of day. */
export interface WhyText {
  /** One line for each step: title and text. */
  readonly why: readonly string[];
  /** What is wrong now and what can be done; empty when nothing is. */
  readonly now: string;
}

/** What the command prints of it at `now`, Unix milliseconds. */
export function whyTextOf(found: PodHistory, now: number): WhyText {
  const { pod } = found;
  const story = { ...found, steps: stepsOf(found), pod: undefined };
  const why = renderHistory(story, { now, columns: COLUMNS, paint: plainPaint })
    .slice(1)
    .flatMap((line) => /^\d\d:\d\d:\d\d {2}(.*)$/.exec(line)?.[1] ?? []);
  return { why: why.map(shortened), now: pod ? shortened(problemText(pod)) : "" };
}

/** Ids, figures that hang on chance, and blanks between title and text, are nobody's concern. */
function shortened(line: string): string {
  return line
    .replace(/\(\d+ times in [^)]+\)/g, "(N times in T)")
    .replace(/\(\d+ times\)/g, "(N times)")
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g, "…")
    .replace(/\([0-9a-f]{8}…\)/g, "(…)")
    .replace(/(\S) {2,}/, "$1  ");
}
