import assert from "node:assert/strict";
import { test } from "node:test";
import { appendAll, largest, smallest } from "./lists.ts";

const MANY = Array.from({ length: 500_000 }, (_, i) => i);

test("appendAll, largest, smallest: of more elements than a call may have arguments", () => {
  const list = [-1];
  appendAll(list, MANY);
  assert.equal(list.length, MANY.length + 1);
  assert.equal(list.at(-1), MANY.length - 1);
  assert.deepEqual([largest(list), smallest(list)], [MANY.length - 1, -1]);
});

test("largest, smallest: of nothing, of what is no number, with a bound", () => {
  assert.deepEqual([largest([]), smallest([])], [-Infinity, Infinity]);
  assert.deepEqual([largest([], 0), largest([-3], 0), largest([3], 0)], [0, 0, 3]);
  assert.deepEqual(
    [largest([1, Number.NaN, 2]), smallest([Number.NaN, 1])],
    [Number.NaN, Number.NaN],
  );
});
