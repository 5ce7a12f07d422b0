import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../../test/sim/sim-clock.ts";
import { checkAfterReads, LIMITS_WITHOUT_CPU, limitOperation } from "./operation-limit.ts";

const LIMIT_MS = 10_000;

/** When an operation is given up whose worker is blocked from a moment on; undefined if not within ten minutes. */
async function givenUpAt(blockedFromMs: number): Promise<number | undefined> {
  const clock = new SimClock();
  let at: number | undefined;
  const isBlocked = () => clock.monotonic() >= blockedFromMs;
  limitOperation({ clock, process: { isBlocked }, limitMs: LIMIT_MS }, () => {
    assert.equal(at, undefined, "given up twice");
    at = clock.monotonic();
  });
  await clock.advance(600_000);
  return at;
}

for (const [what, blockedFromMs, expected] of [
  ["waits in a system call: at the limit", 0, LIMIT_MS],
  ["waits for a CPU, then in a system call: at the next limit", 15_000, 2 * LIMIT_MS],
  [
    "never gets on, and is never blocked: in the end",
    Number.POSITIVE_INFINITY,
    LIMITS_WITHOUT_CPU * LIMIT_MS,
  ],
] as const)
  test(`limitOperation: a worker that ${what}`, async () =>
    assert.equal(await givenUpAt(blockedFromMs), expected));

test("limitOperation: an answer that has arrived at the limit is read first", async () => {
  const clock = new SimClock();
  let gaveUp = false;
  const operation = { clock, process: { isBlocked: () => true }, limitMs: LIMIT_MS };
  const cancel = limitOperation(operation, () => {
    gaveUp = true;
  });
  // Read in the same turn as the alarm rings, as after this process had no CPU.
  clock.alarm(LIMIT_MS, cancel);
  await clock.advance(LIMIT_MS * 10);
  assert.equal(gaveUp, false);
});

/** What is found of a worker that seems blocked or not, as `checks` say; its answer arrives at the check `answeredAt`. */
async function foundBy(checks: readonly boolean[], answeredAt?: number): Promise<unknown> {
  const clock = new SimClock();
  let count = 0;
  let found: boolean | "nothing" = "nothing";
  const isBlocked = () => {
    const seen = checks[count];
    count += 1;
    assert.ok(seen !== undefined, "checked more often than expected");
    // The answer is there, and is read with the next events.
    if (count === answeredAt) clock.alarm(0, cancel);
    return seen;
  };
  const cancel = checkAfterReads({ clock, isBlocked, afterMs: 500 }, (result) => {
    found = result;
  });
  await clock.advance(5_000);
  assert.equal(count, checks.length);
  return found;
}

test("checkAfterReads: one that runs is not blocked", async () =>
  assert.equal(await foundBy([false]), false));

test("checkAfterReads: one that seems blocked is checked again", async () => {
  assert.equal(await foundBy([true, true]), true);
  assert.equal(await foundBy([true, false]), false);
});

test("checkAfterReads: one that had just answered is not judged", async () =>
  assert.equal(await foundBy([true], 1), "nothing"));
