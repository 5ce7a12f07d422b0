import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../test/sim/sim-clock.ts";
import { OutsideError } from "./errors.ts";
import { NEVER_ABORTED, untilAborted, within, withTimeout } from "./within.ts";

const never = () => new Promise<never>(() => {});

function limit(clock: SimClock) {
  return { clock, ms: 5_000, what: "the disk" };
}

test("within: work in time gives its own result, or its own error", async () => {
  const clock = new SimClock();
  const { signal } = new AbortController();
  assert.equal(await within(limit(clock), signal, async () => 7), 7);
  const wrong = new Error("wrong");
  await assert.rejects(
    within(limit(clock), signal, () => Promise.reject(wrong)),
    wrong,
  );
  assert.equal(clock.nextInMs, undefined, "no alarm is left");
});

test("within: work that hangs is abandoned after its timeout, and aborted", async () => {
  const clock = new SimClock();
  let given: AbortSignal | undefined;
  const result = within(limit(clock), new AbortController().signal, (signal) => {
    given = signal;
    return never();
  });
  const refused = assert.rejects(result, (error) => {
    assert.ok(error instanceof OutsideError);
    assert.equal(error.code, "deadline");
    assert.equal(error.message, "the disk did not answer within 5 s");
    return true;
  });
  await clock.advance(4_999);
  assert.equal(given?.aborted, false);
  await clock.advance(1);
  await refused;
  assert.equal(given?.aborted, true);
});

test("within: the caller's abort ends it at once", async () => {
  const clock = new SimClock();
  const leave = new AbortController();
  const result = within(limit(clock), leave.signal, never);
  const reason = new Error("leaving");
  leave.abort(reason);
  await assert.rejects(result, reason);
  await assert.rejects(within(limit(clock), leave.signal, never), reason);
  assert.equal(clock.nextInMs, undefined, "no alarm is left");
});

test("withTimeout: work in time gives its value or its error, and leaves no alarm behind", async () => {
  const clock = new SimClock();
  assert.deepEqual(await withTimeout(limit(clock), NEVER_ABORTED, async () => 7), {
    kind: "done",
    value: 7,
  });
  const wrong = new Error("wrong");
  await assert.rejects(
    withTimeout(limit(clock), NEVER_ABORTED, () => Promise.reject(wrong)),
    wrong,
  );
  assert.equal(clock.nextInMs, undefined, "no alarm is left");
});

test("withTimeout: work that takes longer is aborted, and how it ends later is nobody's business", async () => {
  const clock = new SimClock();
  const { promise, reject } = Promise.withResolvers<never>();
  let given: AbortSignal | undefined;
  const ended = withTimeout(limit(clock), NEVER_ABORTED, (signal) => {
    given = signal;
    return promise;
  });
  await clock.advance(4_999);
  assert.equal(given?.aborted, false);
  await clock.advance(1);
  const { kind } = await ended;
  assert.deepEqual([kind, given?.aborted], ["timedOut", true]);
  // An unhandled rejection would fail the test run.
  reject(new Error("too late"));
  await clock.settle();
});

test("withTimeout: the caller's abort ends the wait and the work", async () => {
  const clock = new SimClock();
  const leave = new AbortController();
  let given: AbortSignal | undefined;
  const ended = withTimeout(limit(clock), leave.signal, (signal) => {
    given = signal;
    return never();
  });
  const reason = new Error("leaving");
  leave.abort(reason);
  await assert.rejects(ended, reason);
  assert.equal(given?.reason, reason);
  assert.equal(clock.nextInMs, undefined, "no alarm is left");
});

test("untilAborted: gives the result, its error, or the signal's reason, whichever comes first", async () => {
  const never = new Promise<never>(() => {});
  const leave = new AbortController();
  assert.equal(await untilAborted(Promise.resolve(7), leave.signal), 7);
  await assert.rejects(untilAborted(Promise.reject(new Error("broken")), leave.signal), /broken/);
  const given = assert.rejects(untilAborted(never, leave.signal), /leaving/);
  leave.abort(new Error("leaving"));
  await given;
  await assert.rejects(untilAborted(never, leave.signal), /leaving/);
});
