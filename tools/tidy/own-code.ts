// pure
/** Holds the record of code that we write by hand to the code: its paths and its lines. */
import type { Violation } from "./violation.ts";

/** The record: a table with rows `| what | `path` … | lines | …`. */
export const RECORD = "docs/adr/0005-own-code.md";

const ROW = /^\|[^|]*\| ((?:`src\/[^`]+` ?)+) ?\| (\d+) \|/;
const NOT_COUNTED = /\.(?:test|vectors)\.ts$|\/(?:generated|testdata)\//;
/** How far a row may be off: a tenth, or so many lines. */
const MAX_OFF_LINES = 10;

/** Rows of the record that name what is not there, or whose lines are off by more than a tenth. */
export function checkOwnCode(files: ReadonlyMap<string, string>): Violation[] {
  const rows = files.get(RECORD)?.split("\n") ?? [];
  return rows.flatMap((row, index) => {
    const [, paths = "", reported = ""] = ROW.exec(row) ?? [];
    if (reported === "") return [];
    const counts = paths
      .split("`")
      .filter(isPath)
      .map((path) => [path, linesOf(path, files)] as const);
    const missing = counts.find(([, count]) => count === 0);
    const lines = counts.reduce((sum, [, count]) => sum + count, 0);
    const stated = Number(reported);
    const off = Math.abs(lines - stated) > Math.max(MAX_OFF_LINES, stated / 10);
    if (!missing && !off) return [];
    const message = missing
      ? `${missing[0]} is not there`
      : `says ${stated} lines, there are ${lines}`;
    return [{ rule: "files", path: RECORD, line: index + 1, message }];
  });
}

const isPath = (text: string): boolean => text.startsWith("src/");

function linesOf(path: string, files: ReadonlyMap<string, string>): number {
  let lines = 0;
  for (const [name, text] of files)
    if (name === path || (name.startsWith(`${path}/`) && name.endsWith(".ts")))
      if (!NOT_COUNTED.test(name)) lines += text.split("\n").length - 1;
  return lines;
}
