import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import type { CoreEvent } from "../../api/generated/types.ts";
import type { WallMs } from "../../kit/clock.ts";
import { silentLog } from "../../kit/log.ts";
import { createSeededRandom } from "../../kit/random.ts";
import type { Published } from "./broadcaster.ts";
import { Recorder } from "./recorder.ts";

const POD = { apiVersion: "v1", kind: "Pod", metadata: { name: "web", namespace: "ns" } };
const KIND = { type: "Normal", reason: "R" } as const;

function world(answer: () => Published = () => "queued") {
  const clock = new SimClock();
  const events: CoreEvent[] = [];
  const lost: string[] = [];
  const reported: string[] = [];
  const recorder = new Recorder({
    clock,
    random: createSeededRandom(1),
    log: { ...silentLog, error: (message) => reported.push(message) },
    source: { component: "kubelet", host: "n1" },
    publish: (event) => {
      events.push(event);
      return answer();
    },
    onLost: (why) => lost.push(why),
  });
  return { clock, recorder, events, lost, reported };
}

test("event, eventf, annotatedEventf, pastEventf: what each one makes", async () => {
  const { clock, recorder, events } = world();
  await clock.advance(5_000);
  recorder.event(POD, { ...KIND, message: "100% as it is" });
  recorder.eventf(POD, KIND, "%s of %d", "one", 2);
  recorder.annotatedEventf(POD, { ...KIND, annotations: { a: "b" } }, "text");
  const at = Date.UTC(2020, 5, 1) as WallMs;
  recorder.pastEventf(POD, { ...KIND, at }, "OOM of %q", "app");
  assert.deepEqual(
    events.map(({ message }) => message),
    ["100% as it is", "one of 2", "text", 'OOM of "app"'],
  );
  assert.deepEqual(events[2]?.metadata.annotations, { a: "b" });
  const past = events[3];
  assert.equal(past?.firstTimestamp, "2020-06-01T00:00:00Z");
  assert.equal(past?.lastTimestamp, "2020-06-01T00:00:00Z");
  assert.equal(events[0]?.firstTimestamp, "2026-01-01T00:00:05Z");
  // Names come from the present, so they are unique all the same.
  const names = events.map(({ metadata }) => metadata.name ?? "");
  assert.equal(new Set(names).size, 4);
  const nanos = names.map((name) => BigInt(`0x${name.slice(4)}`));
  assert.equal(nanos[0], BigInt(Date.UTC(2026, 0, 1, 0, 0, 5)) * 1_000_000n);
  assert.equal(nanos[3], (nanos[0] as bigint) + 3n);
});

test("moment: names of combined events are unlike those of single ones", () => {
  const { recorder, events } = world();
  recorder.event(POD, { ...KIND, message: "m" });
  assert.notEqual(events[0]?.metadata.name, `web.${recorder.moment().nanosHex()}`);
});

test("event: an invalid event is logged and counted, and nothing is thrown", () => {
  const { clock, recorder, events, lost, reported } = world();
  // Input that untyped callers may pass.
  const wrong = { type: "Error", reason: "R", message: "m" } as unknown as {
    readonly type: "Normal";
    readonly reason: string;
    readonly message: string;
  };
  recorder.event(POD, wrong);
  recorder.event(undefined, { ...KIND, message: "m" });
  recorder.event({ metadata: { name: "what" } }, { ...KIND, message: "m" });
  const hostile = {
    get metadata(): never {
      throw new Error("boo");
    },
  };
  recorder.event(hostile, { ...KIND, message: "m" });
  recorder.event(POD, undefined as unknown as typeof wrong);
  assert.deepEqual(events, []);
  assert.deepEqual(lost, ["type", "object", "object", "fault", "fault"]);
  assert.ok(reported.length >= 2);
  assert.equal(clock.pending, 0);
});

test("event: a burst of losses is counted one by one and logged at intervals", async () => {
  const { clock, recorder, lost, reported } = world(() => "full");
  for (let i = 0; i < 500; i += 1) recorder.event(POD, { ...KIND, message: "m" });
  assert.equal(lost.length, 500);
  assert.equal(reported.length, 1);
  await clock.advance(10_000);
  recorder.event(POD, { ...KIND, message: "m" });
  assert.equal(reported.length, 2);
});
