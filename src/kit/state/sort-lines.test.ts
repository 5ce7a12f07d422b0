import assert from "node:assert/strict";
import { test } from "node:test";
import { sortLines } from "./sort-lines.ts";

const isLine = (line: string) => /^\{.*\}$/.test(line);

test("sortLines distinguishes lines that were torn from lines that are damaged", () => {
  const table: readonly [string, string, readonly string[], torn: number, damaged: number][] = [
    ["none", "", [], 0, 0],
    ["empty ones", "\n{1}\n\n{2}\n\n", ["{1}", "{2}"], 0, 0],
    ["a whole one at the end", "{1}\n{2}", ["{1}", "{2}"], 0, 0],
    ["a torn one at the end", "{1}\n{2", ["{1}"], 1, 0],
    ["a torn one by itself", "{2", [], 1, 0],
    ["one that was written again", "{1}\n{2\n{2}\n", ["{1}", "{2}"], 1, 0],
    ["one that follows after others", "{1}\n{33\n{2}\n{333}\n", ["{1}", "{2}", "{333}"], 1, 0],
    ["one that was torn twice", "{12\n{1\n{123}\n", ["{123}"], 2, 0],
    ["one that ends within a character", "{a\uFFFD\n{aü}\n", ["{aü}"], 1, 0],
    ["one that does not follow", "{1}\n{2\n{3}\n", ["{1}", "{3}"], 0, 1],
    ["one that is whole before it", "{2}\n{2\n{3}\n", ["{2}", "{3}"], 0, 1],
    ["one that is damaged and repeated", "x\nx\n{1}\n", ["{1}"], 0, 2],
    ["one with nothing of the line", "\uFFFD\n{1}\n", ["{1}"], 0, 1],
    ["zeros only", "\0\0\0\0", [], 0, 1],
    ["zeros at the end", "{1}\n{2}\n\0\0\0", ["{1}", "{2}"], 0, 1],
    ["zeros within the last line", "{1}\n{2\0\0\0", ["{1}"], 0, 1],
    ["zeros in place of a line", "{1}\n\0\0\0\n{2}\n", ["{1}", "{2}"], 0, 1],
    ["something else at the end", "{1}\ngarbage", ["{1}"], 0, 1],
    ["one that is damaged, one that is torn", "x\n{1}\n{2", ["{1}"], 1, 1],
  ];
  for (const [what, text, good, torn, damaged] of table)
    assert.deepEqual(sortLines(text, isLine), { good, torn, damaged }, what);
});

test("sortLines reads each line once, however much of a file makes no sense", () => {
  let reads = 0;
  const lines = Array.from({ length: 100_000 }, (_, i) => (i % 2 === 0 ? `{${i}}` : `x${i}`));
  const count = (line: string) => {
    reads += 1;
    return isLine(line);
  };
  const sorted = sortLines(lines.join("\n"), count);
  assert.deepEqual(
    [sorted.good.length, sorted.damaged + sorted.torn, reads],
    [50_000, 50_000, 100_000],
  );
});
