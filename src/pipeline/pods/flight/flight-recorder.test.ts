import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { SimClock } from "../../../../test/sim/sim-clock.ts";
import type { Pod } from "../../../api/generated/types.ts";
import type { PodUid } from "../../../api/observation.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import type { MonotonicMs } from "../../../kit/clock.ts";
import { NO_PLAN } from "../plan/actions.ts";
import type { PlanContext } from "../plan/plan-draft.ts";
import type { PodRecord } from "../record/record.ts";
import { newRecord, transition } from "../record/transition.ts";
import { FlightRecorder } from "./flight-recorder.ts";

const context = {} as PlanContext;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** How many of them are still in memory. */
async function countAlive(refs: readonly WeakRef<object>[]): Promise<number> {
  // What was read in this turn is kept for its rest.
  await nextTurn();
  collectGarbage();
  return refs.filter((ref) => ref.deref() !== undefined).length;
}

function recordOf(uid: string): PodRecord {
  const pod: Pod = {
    metadata: { uid, name: uid, namespace: "default" },
    spec: { containers: [{ name: "c" }] },
  };
  const asOf = 0 as MonotonicMs;
  return newRecord({
    uid: uid as PodUid,
    pod: pod as IdentifiedPod,
    source: "file",
    observed: { asOf, sandboxes: [], containers: [] },
    startedAt: 0 as PodRecord["startedAt"],
    mayHavePrerequisites: false,
  });
}

function recorderAt(clock: SimClock) {
  const recorder = new FlightRecorder(clock);
  const take = (before: PodRecord, signal: Parameters<typeof transition>[1]): PodRecord => {
    const now = clock.monotonic();
    const after = transition(before, signal, now);
    recorder.signal({ before, signal, now, after });
    return after;
  };
  const kinds = () =>
    recorder.steps().map((step) => (step.kind === "plan" ? "plan" : step.signal.kind));
  return { recorder, take, kinds };
}

test("FlightRecorder keeps nothing of a pod at rest, however often it is observed and planned", () => {
  const { recorder, take, kinds } = recorderAt(new SimClock());
  let record = take(recordOf("a"), { kind: "admitted" });
  for (let asOf = 1; asOf <= 100; asOf += 1) {
    const observed = { asOf: asOf as MonotonicMs, sandboxes: [], containers: [] };
    record = take(record, { kind: "observed", observed });
    record = take(record, { kind: "tick" });
    recorder.plan(record, context, NO_PLAN);
  }
  assert.deepEqual(kinds(), ["admitted", "plan"]);
  take(record, { kind: "terminate", cause: { kind: "deleted" } });
  recorder.plan(record, context, NO_PLAN);
  assert.deepEqual(kinds(), ["admitted", "plan", "terminate", "plan"]);
});

test("FlightRecorder does not remember a released pod as one at rest", () => {
  const { recorder, kinds } = recorderAt(new SimClock());
  const released: PodRecord = { ...recordOf("a"), life: { kind: "released" } };
  for (let times = 0; times < 2; times += 1) recorder.plan(released, context, NO_PLAN);
  assert.deepEqual(kinds(), ["plan", "plan"]);
});

test("FlightRecorder drops what is older than ten minutes, and all but the last 5000 steps", async () => {
  const clock = new SimClock();
  const { recorder, take } = recorderAt(clock);
  for (let i = 0; i < 7_000; i += 1) take(recordOf(`p${i}`), { kind: "admitted" });
  assert.equal(recorder.steps().length, 5_000);
  assert.equal(recorder.steps()[0]?.uid, "p2000");
  assert.equal(recorder.dropped, 2_000);
  await clock.advance(9 * 60_000);
  take(recordOf("late"), { kind: "admitted" });
  await clock.advance(2 * 60_000);
  assert.deepEqual(
    recorder.steps().map(({ uid }) => uid),
    ["late"],
  );
});

test("FlightRecorder lets go at once of what is too much, and within minutes of what is too old", async () => {
  const clock = new SimClock();
  const { recorder, take } = recorderAt(clock);
  const refs = Array.from({ length: 7_000 }, (_, i) => {
    const record = recordOf(`p${i}`);
    take(record, { kind: "admitted" });
    return new WeakRef(record);
  });
  assert.equal(await countAlive(refs), 5_000);
  const abort = new AbortController();
  const forgetting = recorder.forgetOld(abort.signal);
  await clock.advance(9 * 60_000);
  assert.equal(await countAlive(refs), 5_000);
  await clock.advance(7 * 60_000);
  assert.equal(await countAlive(refs), 0);
  abort.abort(new Error("the agent ends"));
  await assert.rejects(forgetting, /the agent ends/);
});
