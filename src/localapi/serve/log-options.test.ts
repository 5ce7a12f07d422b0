import assert from "node:assert/strict";
import { test } from "node:test";
import { formatProblems } from "../../api/decode/field-problem.ts";
import { logOptionProblems } from "./log-options.ts";

const ROWS: readonly (readonly [query: string, reported: string])[] = [
  ["", ""],
  ["tailLines=0&limitBytes=1&sinceSeconds=1&stream=All", ""],
  ["limitBytes=many", ""],
  ["tailLines=-1", "tailLines: Invalid value: -1: must be greater than or equal to 0"],
  ["limitBytes=0", "limitBytes: Invalid value: 0: must be greater than 0"],
  ["sinceSeconds=0", "sinceSeconds: Invalid value: 0: must be greater than 0"],
  [
    "sinceSeconds=5&sinceTime=2026-01-01T00:00:00Z",
    "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified",
  ],
  ["stream=Both", 'stream: Unsupported value: "Both": supported values: "All", "Stdout", "Stderr"'],
  [
    "stream=Stdout&tailLines=3",
    "Forbidden: `tailLines` and specific `stream` are mutually exclusive for now",
  ],
];

for (const [query, reported] of ROWS)
  test(`options of a log: ${query || "none"}`, () => {
    const problems = logOptionProblems(new URLSearchParams(query));
    const text = problems.length === 0 ? "" : formatProblems(problems);
    assert.ok(text.endsWith(reported) && (text === "") === (reported === ""), text);
  });
