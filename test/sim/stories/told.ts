// What `nodelet why` tells of a pod, in a form that can be compared.
import type { DecisionRecord } from "../../../src/api/decisions.ts";
import type { CoreEvent, Pod } from "../../../src/api/generated/types.ts";
import { plainPaint } from "../../../src/cli/render/text.ts";
import { problemText } from "../../../src/cli/render/why/pod-problem.ts";
import { renderStory } from "../../../src/cli/render/why/story.ts";
import { storyOf } from "../../../src/cli/render/why/why.ts";

const COLUMNS = 10_000;

/** What is told of a pod, without times of day. */
export interface Told {
  /** One line for each step: title and text. */
  readonly why: readonly string[];
  /** What is wrong now and what can be done; empty when nothing is. */
  readonly now: string;
}

/** What is known of a pod. */
export interface KnownOfPod {
  /** `namespace/name`. */
  readonly name: string;
  readonly records: readonly DecisionRecord[];
  readonly warnings: readonly CoreEvent[];
  readonly pod: Pod | undefined;
  readonly now: number;
}

/** What the command tells of it. */
export function told({ name, records, warnings, pod, now }: KnownOfPod): Told {
  const story = { name, steps: storyOf(records), warnings, pod: undefined };
  const why = renderStory(story, { now, columns: COLUMNS, paint: plainPaint })
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
