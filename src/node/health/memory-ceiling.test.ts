import assert from "node:assert/strict";
import { test } from "node:test";
import { lowestLimit, MemoryCeiling } from "./memory-ceiling.ts";

const MIB = 1024 * 1024;
const HEAP = { heapTotalBytes: 0, heapUsedBytes: 100 * MIB, heapLimitBytes: 512 * MIB };
const RESIDENT = "the agent has 900 MiB of memory, and its cgroup a limit of 1024 MiB";
const HEAP_FULL = "the heap of the agent has 470 MiB of at most 512 MiB";

/** Measurements in MiB, resident and heap, and what is reported of each. */
const CASES: Readonly<
  Record<
    string,
    {
      readonly limitMib?: number;
      readonly measured: readonly (readonly [resident: number, heap: number, reported?: string])[];
    }
  >
> = {
  "far below both limits": { limitMib: 1024, measured: Array(5).fill([200, 100]) },
  "resident memory near the cgroup's limit three times in a row": {
    limitMib: 1024,
    measured: [
      [900, 100],
      [900, 100],
      [900, 100, RESIDENT],
    ],
  },
  "a heap near its limit, without a cgroup limit": {
    measured: [
      [600, 470],
      [600, 470],
      [600, 470, HEAP_FULL],
    ],
  },
  "garbage that is collected in between": {
    limitMib: 1024,
    measured: [
      [600, 470],
      [600, 470],
      [600, 100],
      [600, 470],
      [600, 470],
      [600, 470, HEAP_FULL],
    ],
  },
  "much memory without a limit": { measured: Array(5).fill([4000, 100]) },
};

for (const [name, { limitMib, measured }] of Object.entries(CASES))
  test(`MemoryCeiling: ${name}`, () => {
    const ceiling = new MemoryCeiling(limitMib === undefined ? undefined : limitMib * MIB);
    for (const [resident, heap, reported] of measured)
      assert.equal(
        ceiling.take({ ...HEAP, residentBytes: resident * MIB, heapUsedBytes: heap * MIB }),
        reported,
      );
  });

for (const [values, limit] of [
  [["1073741824", "1342177280", undefined], 1073741824],
  [["max", "1342177280", undefined], 1342177280],
  [["max", "max"], undefined],
  [[undefined, undefined, "9223372036854771712"], undefined],
  [[undefined, undefined, "536870912"], 536870912],
] as const)
  test(`lowestLimit: ${values.join(", ")}`, () => assert.equal(lowestLimit(values), limit));
