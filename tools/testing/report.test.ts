import assert from "node:assert/strict";
import { mock, test } from "node:test";
import type { FileResult } from "./accepted-skips.mjs";
import { createReport } from "./report.mjs";

/** What a file of two tests brings, of which the second one fails with this. */
function resultOf(path: string, error?: string): FileResult {
  const failures = error === undefined ? [] : [{ name: "second", error }];
  const passed = 2 - failures.length;
  return { path, kind: "integration", passed, failures, skips: [], output: "", seconds: 1 };
}

const FILES = ["test/a.it.ts", "test/b.it.ts"].map((path) => ({ path, kind: "integration" }));

function shown(act: (report: ReturnType<typeof createReport>) => void): string {
  const lines: string[] = [];
  const log = mock.method(console, "log", (line: string) => lines.push(line));
  try {
    act(createReport(FILES, { known: new Map() }));
  } finally {
    log.mock.restore();
  }
  return lines.join("\n");
}

test("a file that passes when it is run again counts as passed, and its first failure is shown", () => {
  const text = shown((report) => {
    report.add(resultOf("test/a.it.ts", "late"));
    report.add(resultOf("test/b.it.ts"));
    assert.deepEqual(report.failedFiles(), [{ path: "test/a.it.ts", kind: "integration" }]);
    report.repeat(resultOf("test/a.it.ts"));
    assert.equal(report.failed(), false);
    report.close(false);
  });
  assert.match(text, /\nFAILED AT FIRST, passed by itself: test\/a\.it\.ts: second\n {2}late\n/);
  assert.match(text, /\n4 passed, 0 failed, 0 skipped$/);
});

test("a file that fails when it is run again counts as failed, with both failures", () => {
  const text = shown((report) => {
    report.add(resultOf("test/a.it.ts", "late"));
    report.repeat(resultOf("test/a.it.ts", "wrong"));
    assert.equal(report.failed(), true);
    report.close(false);
  });
  assert.match(text, /\nFAILED test\/a\.it\.ts: second\n {2}wrong\n/);
  assert.match(
    text,
    /\nFAILED AT FIRST, failed again by itself: test\/a\.it\.ts: second\n {2}late\n/,
  );
  assert.match(text, /\n1 passed, 1 failed, 0 skipped$/);
});

test("without a terminal progress is reported every 30 seconds: files done, time left, what runs", () => {
  mock.timers.enable({ apis: ["setInterval"] });
  try {
    const text = shown((report) => {
      for (const file of FILES) report.start(file);
      report.add(resultOf("test/a.it.ts"));
      mock.timers.tick(30_000);
      report.add(resultOf("test/b.it.ts"));
      mock.timers.tick(60_000);
      report.close(false);
    });
    const lines = text.split("\n").filter((line) => line.startsWith("["));
    assert.equal(lines.length, 1, text);
    assert.match(lines[0] ?? "", /^\[1\/2 files, about \d+ s left\] test\/b\.it\.ts$/);
  } finally {
    mock.timers.reset();
  }
});

test("what was left is named in the line before the last", () => {
  const text = shown((report) => report.close(false, "left for x: y"));
  assert.match(text, /\nleft for x: y\n\n0 passed, 0 failed, 0 skipped$/);
});
