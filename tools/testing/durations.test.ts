import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createForecast, keepDurations, readDurations, roughly } from "./durations.mjs";

const FILES = ["a", "b", "c", "d"].map((path) => ({ path, kind: "unit" }));
const KNOWN = new Map([
  ["a", 20],
  ["b", 20],
  ["c", 40],
  ["d", 120],
]);

test("createForecast: what the files took the last time, two at once, corrected by the pace of this run", () => {
  const { left } = createForecast(FILES, KNOWN);
  const rows: readonly [done: readonly string[], seconds: number, left: number][] = [
    [[], 0, 100],
    // Half as fast as the last time.
    [["a", "b"], 40, 160],
    [["a", "b", "c"], 40, 60],
    // No more than four times as slow.
    [["a", "b"], 4000, 320],
    [["a", "b", "c", "d"], 100, 0],
    // What is not of the run counts for nothing.
    [["e"], 5, 100],
  ];
  for (const [done, seconds, expected] of rows)
    assert.equal(left(done, seconds), expected, `${done}`);
});

test("createForecast: files that run count with their time, but never as done", () => {
  const { left } = createForecast(FILES, KNOWN);
  assert.equal(left(["a", "b", "c"], 40, [["d", 60]]), (60 - 30) * (40 / 70));
  assert.equal(left(["a", "b", "c"], 40, [["d", 6000]]), (60 - 54) * (40 / 94));
});

test("createForecast: files that never ran here take what is usual for their kind", () => {
  const files = [{ path: "x.it.ts", kind: "integration" }];
  assert.ok(createForecast(files, new Map()).left([], 0) > 1);
});

test("keepDurations adds to what is kept; what cannot be read counts for nothing", () => {
  const folder = mkdtempSync(join(tmpdir(), "durations-"));
  try {
    const file = join(folder, "new", "durations.json");
    assert.deepEqual(readDurations(file), new Map());
    keepDurations(
      [
        ["a", 1],
        ["b", 2],
      ],
      file,
    );
    keepDurations([["b", 3]], file);
    assert.deepEqual(
      readDurations(file),
      new Map([
        ["a", 1],
        ["b", 3],
      ]),
    );
    assert.deepEqual(readdirSync(join(folder, "new")), ["durations.json"]);
    writeFileSync(file, '{"a": "long", "b": 3}');
    assert.deepEqual(readDurations(file), new Map([["b", 3]]));
    writeFileSync(file, "{");
    assert.deepEqual(readDurations(file), new Map());
    keepDurations([["a", 1]], join(file, "below a file"));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("roughly: tens of seconds, then minutes", () => {
  const rows: readonly [number, string][] = [
    [0, "10 s"],
    [41, "50 s"],
    [89, "90 s"],
    [90, "2 min"],
    [700, "12 min"],
  ];
  for (const [seconds, text] of rows) assert.equal(roughly(seconds), text);
});
