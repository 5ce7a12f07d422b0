// pure
import { rfc3339 } from "../../../api/text/timestamps.ts";
import type { WallMs } from "../../../kit/clock.ts";
import type { Overview, StateProblem } from "../../client/shapes.ts";
import { counted, oneLine, type Paint, wrapText } from "../text.ts";

const INDENT = "  ";
const MIN_TEXT_COLUMNS = 30;

const TITLES: Readonly<Record<StateProblem["kind"], string>> = {
  setAside: "set aside",
  unusable: "cannot be used",
  unwritten: "cannot be written",
  refused: "refused",
};

/** What keeps the node from being ready, and which of the agent's own files were or are damaged. */
export function renderNodeWhy(
  { node, ready, why, conditions }: Overview,
  problems: readonly StateProblem[],
  { columns, paint }: { readonly columns: number; readonly paint: Paint },
): readonly string[] {
  const text = (indent: string, said: string) =>
    wrapText(oneLine(said), Math.max(MIN_TEXT_COLUMNS, columns - indent.length)).map(
      (line) => indent + line,
    );
  const failing = conditions.filter(({ status }) => status === "False");
  const state = ready
    ? [`${INDENT}ready`]
    : failing.length === 0
      ? text(INDENT, `not ready: ${why}`)
      : failing.flatMap(({ type, message }) => text(INDENT, `not ready: ${type}: ${message}`));
  const files = problems.flatMap((problem) => [
    `${INDENT}${rfc3339(problem.atMs as WallMs)}  ${paint("yellow", TITLES[problem.kind])}  ${oneLine(problem.path)}`,
    ...text(INDENT.repeat(2), `why: ${problem.why}`),
    ...text(INDENT.repeat(2), consequence(problem)),
  ]);
  const heading =
    problems.length === 0
      ? `${INDENT}all state files of the agent are in order`
      : `${INDENT}${counted(problems.length, "problem")} with state files of the agent since it was started:`;
  return [paint("bold", oneLine(node)), ...state, heading, ...files];
}

function consequence({ kind, keptAs, holds }: StateProblem): string {
  switch (kind) {
    case "setAside":
      return `kept as: ${keptAs}; lost: ${holds}`;
    case "unusable":
      return `it counts as missing; lost: ${holds}`;
    case "refused":
      return `it is left as it is; meanwhile missing: ${holds}`;
    case "unwritten":
      return `kept in memory, lost with the next restart of the agent: ${holds}`;
    default:
      return kind satisfies never;
  }
}
