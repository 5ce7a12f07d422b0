import assert from "node:assert/strict";
import { test } from "node:test";
import type { ObservedContainer, ObservedSandbox } from "../../api/observation.ts";
import { newestContainerFirst, newestSandboxFirst } from "./newest-first.ts";

type Made = readonly [name: string, count: number, createdAtMs: number, sandboxId?: string];
const container = ([name, restartCount, createdAtMs, sandboxId = "second"]: Made) =>
  ({ name, restartCount, createdAtMs, sandboxId }) as ObservedContainer;
/** Newest first. */
const SANDBOXES = [{ id: "second" }, { id: "first" }];

for (const [what, given, expected] of [
  ["nothing", [], []],
  [
    "by time",
    [
      ["a", 0, 1],
      ["b", 0, 3],
      ["a", 1, 2],
    ],
    [
      ["b", 0, 3],
      ["a", 1, 2],
      ["a", 0, 1],
    ],
  ],
  [
    "the clock was set back between two attempts",
    [
      ["a", 0, 100],
      ["a", 1, 200],
      ["a", 2, 50],
    ],
    [
      ["a", 2, 50],
      ["a", 1, 200],
      ["a", 0, 100],
    ],
  ],
  [
    "places between names stay as the times have them",
    [
      ["a", 0, 300],
      ["b", 0, 200],
      ["a", 1, 100],
    ],
    [
      ["a", 1, 100],
      ["b", 0, 200],
      ["a", 0, 300],
    ],
  ],
  [
    "a count that began again in a new sandbox",
    [
      ["a", 3, 100, "first"],
      ["a", 0, 200, "second"],
      ["a", 4, 150, "gone"],
    ],
    [
      ["a", 0, 200, "second"],
      ["a", 3, 100, "first"],
      ["a", 4, 150, "gone"],
    ],
  ],
  [
    "equal counts by time",
    [
      ["a", 0, 1],
      ["a", 0, 2],
    ],
    [
      ["a", 0, 2],
      ["a", 0, 1],
    ],
  ],
] as const satisfies readonly (readonly [string, readonly Made[], readonly Made[]])[])
  test(`newestContainerFirst: ${what}`, () =>
    assert.deepEqual(
      newestContainerFirst(given.map(container), SANDBOXES),
      expected.map(container),
    ));

test("newestSandboxFirst: by number, then by time", () => {
  const sandbox = (attempt: number, createdAtMs: number) =>
    ({ attempt, createdAtMs }) as ObservedSandbox;
  assert.deepEqual(
    newestSandboxFirst([sandbox(0, 9), sandbox(2, 1), sandbox(1, 5), sandbox(1, 6)]),
    [sandbox(2, 1), sandbox(1, 6), sandbox(1, 5), sandbox(0, 9)],
  );
});
