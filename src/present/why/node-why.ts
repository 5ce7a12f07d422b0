// pure

import type { DecisionKind, DecisionRecord } from "../../api/decisions.ts";
import { rfc3339 } from "../../api/text/timestamps.ts";
import type { WallMs } from "../../kit/clock.ts";
import { largest } from "../../kit/limits/lists.ts";
import type { Overview, StateProblem } from "../shapes.ts";
import { counted, oneLine, type Paint, wrapText } from "../text.ts";
import { type HistoryStep, storyOf } from "./why.ts";

const INDENT = "  ";
/** The form of a time in the history. */
const STAMP = "yyyy-mm-dd hh:mm:ssZ";
const MIN_TEXT_COLUMNS = 30;

const TITLES: Readonly<Record<StateProblem["kind"], string>> = {
  setAside: "set aside",
  unusable: "cannot be used",
  unwritten: "cannot be written",
  refused: "refused",
};

/** Steps of the node's history that are shown. */
const MAX_STEPS = 20;
const ENDED =
  "The agent ended without being stopped: it was killed, it crashed, or the machine went down.";

/** History of the node, oldest first: starts and exits of the agent, and what was reclaimed. */
export function nodeSteps(decisions: readonly DecisionRecord[]): readonly HistoryStep[] {
  const own = decisions.filter(({ subject }) => subject.kind === "node");
  let isRunning = false;
  const steps = own.flatMap((record) => {
    const steps = storyOf([record]);
    const wasRunning = isRunning;
    if (record.kind === "startAgent") isRunning = true;
    if (record.kind === "stopAgent" || record.kind === "agentExited") isRunning = false;
    if (record.kind !== "startAgent" || !wasRunning) return steps;
    return steps.flatMap((step) => [{ ...step, title: "ended", text: ENDED }, step]);
  });
  return steps.slice(-MAX_STEPS);
}

/** Of these steps those of the agent itself: how often it was started, how it ended, and why. */
export function agentSteps(decisions: readonly DecisionRecord[]): readonly HistoryStep[] {
  return nodeSteps(decisions.filter(({ kind }) => OWN_KINDS.has(kind)));
}

const OWN_KINDS: ReadonlySet<string> = new Set([
  "startAgent",
  "stopAgent",
  "agentExited",
  "stopNode",
] satisfies DecisionKind[]);

/** Starts within a day beyond which something is wrong with the agent. */
const MANY_STARTS = 5;
const DAY_MS = 24 * 3_600_000;

/** How often the agent was started of late; none of it when that is usual. */
export function renderRestarts(
  decisions: readonly DecisionRecord[],
  now: number,
): readonly string[] {
  const starts = decisions.filter(
    ({ kind, atMs }) => kind === "startAgent" && now - atMs < DAY_MS,
  ).length;
  if (starts < MANY_STARTS) return [];
  return [`${INDENT}started ${starts} times within the last 24 hours; the steps say how it ended`];
}

/** Those steps in lines. */
export function renderNodeHistory(
  steps: readonly HistoryStep[],
  { columns, paint }: { readonly columns: number; readonly paint: Paint },
): readonly string[] {
  if (steps.length === 0) return [];
  const width = largest(steps.map(({ title }) => title.length));
  const indent = " ".repeat(INDENT.length + STAMP.length + width + 4);
  const lines = steps.flatMap(({ atMs, title, text }) => {
    const stamp = `${rfc3339(atMs as WallMs)
      .slice(0, STAMP.length - 1)
      .replace("T", " ")}Z`;
    const [first = "", ...more] = wrapText(
      text,
      Math.max(MIN_TEXT_COLUMNS, columns - indent.length),
    );
    const head = `${INDENT}${stamp}  ${paint("bold", title.padEnd(width))}  ${first}`;
    return [head, ...more.map((line) => indent + line)];
  });
  return [`${INDENT}history of the agent on this node:`, ...lines];
}

/** Renders why the node is not ready, which health checks fail, and which of the agent's own files were or are damaged. */
export function renderNodeWhy(
  { node, ready, why, conditions, failingChecks, runtimeDeprecations = [] }: Overview,
  problems: readonly StateProblem[],
  { columns, paint }: { readonly columns: number; readonly paint: Paint },
): readonly string[] {
  const text = (indent: string, reported: string) =>
    wrapText(oneLine(reported), Math.max(MIN_TEXT_COLUMNS, columns - indent.length)).map(
      (line) => indent + line,
    );
  const failing = conditions.filter(({ status }) => status === "False");
  const state = ready
    ? [`${INDENT}ready`]
    : failing.length === 0
      ? text(INDENT, `not ready: ${why}`)
      : failing.flatMap(({ type, message }) => text(INDENT, `not ready: ${type}: ${message}`));
  const checks = failingChecks.flatMap(({ name, problem }) =>
    text(INDENT, `health check fails: ${name}: ${problem}`),
  );
  const deprecated = runtimeDeprecations.flatMap((each) =>
    text(INDENT, `the container runtime warns: ${each}`),
  );
  const files = problems.flatMap((problem) => [
    `${INDENT}${rfc3339(problem.atMs as WallMs)}  ${paint("yellow", TITLES[problem.kind])}  ${oneLine(problem.path)}`,
    ...text(INDENT.repeat(2), `why: ${problem.why}`),
    ...text(INDENT.repeat(2), consequence(problem)),
  ]);
  const heading =
    problems.length === 0
      ? `${INDENT}all state files of the agent are in order`
      : `${INDENT}${counted(problems.length, "problem")} with state files of the agent since it was started:`;
  return [paint("bold", oneLine(node)), ...state, ...checks, ...deprecated, heading, ...files];
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
