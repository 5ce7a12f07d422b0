import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../../test/sim/sim-clock.ts";
import { silentLog } from "../../../kit/log.ts";
import { TaskScope } from "../../../kit/scope.ts";
import { RuntimeCalls, TIMEOUT_MS } from "./calls.ts";
import { LENT_AFTER_MS } from "./paced-slots.ts";

/** One start and two removals at a time, each of which takes so long and returns how it ended. */
function aRuntime() {
  const clock = new SimClock();
  const scope = new TaskScope("test", { clock, log: silentLog });
  const calls = new RuntimeCalls(1, { clock, scope });
  const story: string[] = [];
  const lasting = (name: string, ms: number) => async (over: AbortSignal) => {
    story.push(`${name} begins`);
    await clock.sleep(ms, over).then(
      () => story.push(`${name} ends`),
      () => story.push(`${name} is cut off`),
    );
  };
  return { clock, scope, calls, story, lasting };
}

const given = (promise: Promise<unknown>) => promise.catch((error: unknown) => String(error));

test("a call that has begun continues after its caller gave up, one that has not is cancelled", async () => {
  const { clock, calls, story, lasting } = aRuntime();
  const interest = new AbortController();
  const first = given(calls.remove(interest.signal, lasting("first", 1_000)));
  const second = given(calls.remove(interest.signal, lasting("second", 1_000)));
  const third = given(calls.remove(interest.signal, lasting("third", 1_000)));
  await clock.advance(1);
  interest.abort(new Error("superseded"));
  await clock.advance(1_000);
  assert.deepEqual(story, ["first begins", "second begins", "first ends", "second ends"]);
  const ends = await Promise.all([first, second, third]);
  assert.deepEqual(ends, [undefined, undefined, "Error: superseded"]);
});

for (const [ms, end] of [
  [TIMEOUT_MS - 1, "ends"],
  [TIMEOUT_MS + 1, "is cut off"],
] as const)
  test(`a sandbox that takes ${ms} ms after its pod was given up ${end}`, async () => {
    const { clock, calls, story, lasting } = aRuntime();
    const interest = new AbortController();
    const made = given(calls.start("sandbox", interest.signal, lasting("sandbox", 100 + ms)));
    await clock.advance(100);
    interest.abort(new Error("superseded"));
    await clock.advance(TIMEOUT_MS);
    await made;
    assert.deepEqual(story, ["sandbox begins", `sandbox ${end}`]);
    assert.equal(clock.pending, 0);
  });

for (const [ms, end] of [
  [TIMEOUT_MS - 1, "ends"],
  [TIMEOUT_MS + 1, "is cut off"],
] as const)
  test(`a call that takes ${ms} ms when the agent leaves ${end}`, async () => {
    const { clock, scope, calls, story, lasting } = aRuntime();
    const { signal } = scope;
    void given(calls.start("sandbox", signal, lasting("start", ms)));
    void given(calls.remove(signal, lasting("removal", ms)));
    void given(calls.start("container", signal, lasting("waiting", ms)));
    await clock.settle();
    let left = false;
    void scope[Symbol.asyncDispose]().then(() => {
      left = true;
    });
    await clock.advance(TIMEOUT_MS);
    assert.equal(left, true);
    assert.deepEqual(story.toSorted(), [
      "removal begins",
      `removal ${end}`,
      "start begins",
      `start ${end}`,
    ]);
  });

test("an agent without calls leaves at once", async () => {
  const { clock, scope } = aRuntime();
  await scope[Symbol.asyncDispose]();
  assert.equal(clock.pending, 0);
});

test("containers are made before sandboxes", async () => {
  const { clock, scope, calls, story, lasting } = aRuntime();
  const { signal } = scope;
  for (const what of ["sandbox", "sandbox", "container"] as const)
    void given(calls.start(what, signal, lasting(what, 10)));
  assert.equal(calls.waitingStarts, 2);
  await clock.advance(30);
  assert.deepEqual(
    story.filter((line) => line.endsWith("begins")),
    ["sandbox begins", "container begins", "sandbox begins"],
  );
});

test("an agent that leaves waits for a start that hangs and does not count any more", async () => {
  const { clock, scope, calls, story, lasting } = aRuntime();
  const { signal } = scope;
  void given(calls.start("sandbox", signal, lasting("first", LENT_AFTER_MS + 3_000)));
  void given(calls.start("sandbox", signal, lasting("second", 1_000)));
  await clock.advance(LENT_AFTER_MS + 500);
  assert.deepEqual(story, ["first begins", "second begins"]);
  await clock.advance(1_000);
  let left = false;
  void scope[Symbol.asyncDispose]().then(() => {
    left = true;
  });
  await clock.settle();
  assert.equal(left, false);
  await clock.advance(1_500);
  assert.deepEqual(story.slice(2), ["second ends", "first ends"]);
  assert.equal(left, true);
});
