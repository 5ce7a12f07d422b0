import assert from "node:assert/strict";
import { test } from "node:test";
import type { MonotonicMs } from "../../kit/clock.ts";
import {
  COMPACT_AFTER_MS,
  COMPACT_AGAIN_MS,
  COMPACT_FREE_BYTES,
  REST_SHARE,
  REST_WAIT_SHARE,
  RestRelease,
  TRIM_AFTER_MS,
  waitedSeconds,
} from "./rest-release.ts";

const PERIOD_MS = 10_000;
const TRIM_AT = TRIM_AFTER_MS / PERIOD_MS;
const COMPACT_AT = COMPACT_AFTER_MS / PERIOD_MS;
const REST = REST_SHARE / 2;
const BUSY = REST_SHARE * 2;

const MIB = 1024 * 1024;
const USED_BYTES = 30 * MIB;

/**
 * What is done at which reading, of an agent that takes these shares of a processor between readings. `garbage` says how
 * much of the heap that is not in use has not been collected at a reading, by default nothing, and `waits` for which share
 * of the time the agent had to wait for a processor.
 */
function play(
  shares: readonly number[],
  unusedBytes = COMPACT_FREE_BYTES,
  garbage: (reading: number) => number = () => 0,
  waits: readonly number[] = [],
): readonly string[] {
  const done: string[] = [];
  let at = 0;
  const note = (what: string) => () => void done.push(`${what} ${at}`);
  const unused = new RestRelease({ trim: note("trim"), compact: note("compact") });
  let usedSeconds = 5;
  let waited = 7;
  const heapTotalBytes = USED_BYTES + unusedBytes;
  for (const [i, share] of [0, ...shares].entries()) {
    at = i;
    usedSeconds += (share * PERIOD_MS) / 1000;
    waited += ((waits[i - 1] ?? 0) * PERIOD_MS) / 1000;
    const heap = { heapTotalBytes, heapUsedBytes: USED_BYTES + garbage(i) };
    const cpu = { usedSeconds, waitedSeconds: waited };
    unused.take(heap, cpu, (1_000 + i * PERIOD_MS) as MonotonicMs);
  }
  return done;
}

/** What a compaction is followed by, at the first reading at which there is one. */
const COMPACTED = [`compact ${COMPACT_AT}`, `trim ${COMPACT_AT}`];
const rest = (readings: number) => Array.from({ length: readings }, () => REST);

test("an agent at rest gives back what it does not use, once", () => {
  const long = COMPACT_AT * 3;
  const again = COMPACT_AT + COMPACT_AGAIN_MS / PERIOD_MS;
  const table: readonly [string, readonly number[], readonly string[]][] = [
    ["not soon", rest(TRIM_AT - 1), []],
    ["what is cheap first", rest(COMPACT_AT - 1), [`trim ${TRIM_AT}`]],
    ["then the heap", rest(long), [`trim ${TRIM_AT}`, ...COMPACTED]],
    [
      "and again, when the heap has as much beside objects in use",
      rest(again),
      [`trim ${TRIM_AT}`, ...COMPACTED, `compact ${again}`, `trim ${again}`],
    ],
    ["never while it is busy", Array.from({ length: long }, () => BUSY), []],
    ["counted from the last work", [...rest(TRIM_AT - 1), BUSY, ...rest(TRIM_AT - 1)], []],
    [
      "again after work",
      [...rest(TRIM_AT), BUSY, ...rest(TRIM_AT)],
      [`trim ${TRIM_AT}`, `trim ${2 * TRIM_AT + 1}`],
    ],
  ];
  for (const [what, shares, expected] of table) assert.deepEqual(play(shares), expected, what);
});

test("a heap that holds little beside objects in use is not compacted", () => {
  assert.deepEqual(play(rest(COMPACT_AT * 2), COMPACT_FREE_BYTES - 1), [`trim ${TRIM_AT}`]);
});

test("garbage that was not collected counts as much as what is free", () => {
  const readings = rest(COMPACT_AT);
  const expected = [`trim ${TRIM_AT}`, ...COMPACTED];
  const afterFirst = (reading: number) => (reading === 0 ? 0 : COMPACT_FREE_BYTES);
  assert.deepEqual(play(readings, COMPACT_FREE_BYTES, afterFirst), expected);
});

test("what is in use is measured again after a compaction", () => {
  // What counts as garbage at first turns out to be in use.
  const inUse = (reading: number) => (reading === 0 ? 0 : COMPACT_FREE_BYTES);
  const readings = rest(COMPACT_AT + COMPACT_AGAIN_MS / PERIOD_MS);
  const expected = [`trim ${TRIM_AT}`, ...COMPACTED];
  assert.deepEqual(play(readings, COMPACT_FREE_BYTES, inUse), expected);
});

test("an agent that waits for a processor most of the time is not at rest, however little it takes", () => {
  const starved = Array.from({ length: COMPACT_AT * 2 }, () => 0.05);
  const waiting = (share: number, readings = starved.length) =>
    play(
      starved,
      COMPACT_FREE_BYTES,
      undefined,
      Array.from({ length: readings }, () => share),
    );
  assert.deepEqual(waiting(0.9), []);
  assert.deepEqual(waiting(REST_WAIT_SHARE / 2), [`trim ${TRIM_AT}`, ...COMPACTED]);
  const [trim, compact] = [COMPACT_AT - 1 + TRIM_AT, COMPACT_AT - 1 + COMPACT_AT];
  assert.deepEqual(waiting(0.9, COMPACT_AT - 1), [
    `trim ${trim}`,
    `compact ${compact}`,
    `trim ${compact}`,
  ]);
});

test("the wait is the second number of the kernel's, in nanoseconds, and none where it gives nothing", () => {
  const table: readonly [string | undefined, number][] = [
    ["1250000000 3500000000 421\n", 3.5],
    ["0 0 0\n", 0],
    [undefined, 0],
    ["", 0],
    ["1250000000", 0],
  ];
  for (const [text, seconds] of table) assert.equal(waitedSeconds(text), seconds, String(text));
});
