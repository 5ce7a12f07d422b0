import assert from "node:assert/strict";
import { test } from "node:test";
import { ProgramPageRelease, RELEASE_GROWTH_BYTES } from "./program-page-release.ts";

const MIB = 1024 * 1024;
const GROWTH = RELEASE_GROWTH_BYTES / MIB;

/** A process that has so many MiB at the calls, and so many after a release. */
function play(
  residentMib: readonly number[],
  afterMib: number,
  isPossible = true,
): readonly number[] {
  let resident = 0;
  const released: number[] = [];
  let at = 0;
  const heap = { heapTotalBytes: 0, heapUsedBytes: 0, heapLimitBytes: 0 };
  const memory = () => ({ residentBytes: resident * MIB, ...heap });
  const pages = new ProgramPageRelease({
    memory,
    releaseProgramPages: () => {
      released.push(at);
      if (isPossible) resident = afterMib;
      return isPossible;
    },
  });
  for (const [i, mib] of residentMib.entries()) {
    at = i;
    resident = mib;
    pages.take(memory());
  }
  return released;
}

test("the program is given back after the start and when the process has grown", () => {
  const table: readonly [string, readonly number[], number, readonly number[]][] = [
    ["after the start", [90], 60, [0]],
    ["at rest never again", [90, 61, 62, 61, 62], 60, [0]],
    ["a little less than the growth", [90, 60 + GROWTH - 1], 60, [0]],
    ["grown", [90, 62, 60 + GROWTH], 60, [0, 2]],
    ["measured from the least since", [90, 50, 50 + GROWTH], 60, [0, 2]],
    ["growth of other memory only: once for each step", [90, 80, 81, 90], 78, [0, 3]],
  ];
  for (const [what, residentMib, afterMib, expected] of table)
    assert.deepEqual(play(residentMib, afterMib), expected, what);
});

test("where it is not possible it is tried once", () => {
  assert.deepEqual(play([90, 200, 400], 60, false), [0]);
});
