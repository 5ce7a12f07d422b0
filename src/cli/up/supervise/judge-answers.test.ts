import assert from "node:assert/strict";
import { test } from "node:test";
import { type Ask, countMissed, MAX_MISSED, whyReplaced } from "./judge-answers.ts";

const ANSWERED: Ask = { result: { kind: "answered" }, ownLagMs: 0, processState: "S" };
const SILENT: Ask = { result: { kind: "silent" }, ownLagMs: 0, processState: "R" };
const SILENT_ON_A_SLOW_MACHINE: Ask = { ...SILENT, ownLagMs: 5_000 };
const STARTING: Ask = { result: { kind: "notListening" }, ownLagMs: 0, processState: "S" };
const STOPPED_AT_THE_START: Ask = { ...STARTING, processState: "T" };

const ROWS: readonly (readonly [name: string, asks: readonly Ask[], missed: number])[] = [
  ["an agent that answers", [ANSWERED, ANSWERED], 0],
  ["one that is silent", [SILENT, SILENT, SILENT], 3],
  ["an answer forgets what was missed before", [SILENT, SILENT, ANSWERED, SILENT], 1],
  ["a machine that is slow itself proves nothing", Array(20).fill(SILENT_ON_A_SLOW_MACHINE), 0],
  ["nor does it forget", [SILENT, SILENT_ON_A_SLOW_MACHINE, SILENT], 2],
  ["an agent that starts may take its time", Array(100).fill(STARTING), 0],
  ["one that is stopped while it starts will never serve", Array(3).fill(STOPPED_AT_THE_START), 3],
];

for (const [name, asks, missed] of ROWS)
  test(`countMissed: ${name}`, () => {
    assert.equal(asks.reduce(countMissed, 0), missed);
  });

test("whyReplaced names the state of the process where that explains it", () => {
  assert.match(whyReplaced(MAX_MISSED, "T"), /3 times in a row \(its process is stopped\)$/);
  assert.match(whyReplaced(MAX_MISSED, "D"), /waits for a disk, state D/);
  assert.match(whyReplaced(MAX_MISSED, "R"), /is busy, state R/);
  assert.match(whyReplaced(MAX_MISSED, undefined), /in a row$/);
});
