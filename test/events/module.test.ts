// The module as a whole, on virtual time: what callers say, what the log, watchers and the history have of it.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { CoreEvent } from "../../src/api/generated/types.ts";
import type { WallMs } from "../../src/kit/clock.ts";
import { OutsideError } from "../../src/kit/errors.ts";
import { AWAY } from "./fake-event-api.ts";
import { EventWorld, FOLDER, pod, shown, unaccounted } from "./world.ts";

const STARTED = { type: "Normal", reason: "Started", message: "Container started" } as const;
const FAILED = { type: "Warning", reason: "Failed", message: "Error: no" } as const;
const SECOND = 1_000;

test("ofPod: container, field path, and containers that the spec does not name", async () => {
  const world = await EventWorld.start();
  world.events.ofPod(pod(), STARTED, "main");
  world.events.ofPod(pod(), { ...STARTED, message: "not delivered" }, "POD");
  world.events.ofPod(pod(), { ...STARTED, message: "of the pod" });
  await world.clock.advance(SECOND);
  const paths = world.events.list().map(({ involvedObject }) => involvedObject.fieldPath);
  assert.deepEqual(paths, ["spec.containers{main}", undefined]);
  await world.stop();
});

test("ofPod: ids of containers give way to the container's name", async () => {
  const world = await EventWorld.start();
  const fail = (containerId: string) =>
    world.events.ofPod(
      pod(),
      { ...FAILED, message: `Error: task ${containerId}: ${containerId} not found`, containerId },
      "main",
    );
  fail("0123abc");
  fail("4567def");
  await world.clock.advance(SECOND);
  const [event, ...others] = world.events.list();
  assert.equal(event?.message, "Error: task main: main not found");
  assert.equal(event?.count, 2);
  assert.deepEqual(others, []);
  await world.stop();
});

test("ofNode: the UID is the one of the first object that was known, in the default namespace", async () => {
  const world = await EventWorld.start();
  const { events, node } = world;
  const record = (message: string) =>
    events.ofNode({ type: "Normal", reason: "Starting", message });
  record("before the object is known");
  node.set({ metadata: { name: "n1", uid: "first" } });
  record("after");
  node.set(undefined);
  record("after its deletion");
  node.set({ metadata: { name: "n1", uid: "second" } });
  record("after it was created again");
  events.ofNode({ type: "Warning", reason: "SystemOOM", message: "a reason without it" });
  await world.clock.advance(SECOND);
  const stored = [...world.api.stored.values()];
  assert.deepEqual(
    stored.map(({ message, involvedObject: { uid } }) => `${message}: ${uid}`).sort(),
    [
      "a reason without it: undefined",
      "after it was created again: first",
      "after its deletion: first",
      "after: first",
      "before the object is known: undefined",
    ],
  );
  const [event] = stored;
  assert.equal(event?.involvedObject.name, "n1");
  assert.equal(event?.metadata.namespace, "default");
  assert.equal(event?.source?.component, "kubelet");
  await world.stop();
});

test("log: every event is logged at verbosity 3, before it is sent", async () => {
  const world = await EventWorld.start();
  world.api.answer = () => {
    world.log.push("sent");
    return { kind: "ok" };
  };
  world.events.ofPod(pod(), STARTED);
  world.events.ofPod(pod(), STARTED);
  await world.clock.advance(SECOND);
  const reported = world.log.filter((line) => line.startsWith("3 ") || line === "sent");
  assert.deepEqual(reported, [
    "3 Event occurred Started",
    "3 Event occurred Started",
    "sent",
    "sent",
  ]);
  await world.stop();
});

test("without an API server: events go to log and history, which is logged once", async () => {
  const world = await EventWorld.start({ api: false });
  for (let i = 0; i < 30; i += 1) world.events.ofPod(pod(), { ...FAILED, reason: "FailedMount" });
  await world.clock.advance(SECOND);
  assert.deepEqual(shown(world.events.list()), ["FailedMount x30 filtered=5"]);
  assert.deepEqual(world.api.requests, []);
  assert.equal(world.events.counts.totals.kept, 30);
  assert.equal(world.log.filter((line) => line.includes("no API server")).length, 1);
  assert.equal(unaccounted(world.events), 0);
  await world.stop();
});

test("addWatcher: from outside, events as they were recorded; a failing one is alone with it", async () => {
  const world = await EventWorld.start();
  const seen: (number | undefined)[] = [];
  const leave = world.events.addWatcher("mine", ({ count }) => void seen.push(count));
  world.events.addWatcher("broken", () => {
    throw new Error("boo");
  });
  for (let i = 0; i < 3; i += 1) world.events.ofPod(pod(), STARTED);
  await world.clock.advance(SECOND);
  leave();
  world.events.ofPod(pod(), STARTED);
  await world.clock.advance(SECOND);
  assert.deepEqual(seen, [1, 1, 1]);
  assert.equal([...world.api.stored.values()][0]?.count, 4);
  await world.stop();
});

test("watch: every event as the list has it", async () => {
  const world = await EventWorld.start();
  const seen: CoreEvent[] = [];
  const leave = world.events.watch((event) => seen.push(event));
  for (let i = 0; i < 3; i += 1) world.events.ofPod(pod(), STARTED);
  await world.clock.advance(SECOND);
  assert.deepEqual(shown(seen), ["Started x1", "Started x2", "Started x3"]);
  leave();
  world.events.ofPod(pod(), STARTED);
  await world.clock.advance(SECOND);
  assert.equal(seen.length, 3);
  await world.stop();
});

test("recorder: an embedding program records events about any object, also past ones", async () => {
  const world = await EventWorld.start();
  const volume = {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "disk", uid: "u" },
  };
  const at = Date.UTC(2025, 11, 31, 23, 59, 0) as WallMs;
  world.events.recorder.pastEventf(volume, { type: "Warning", reason: "Slow", at }, "%d ms", 900);
  await world.clock.advance(SECOND);
  const [event] = world.api.stored.values();
  assert.equal(event?.firstTimestamp, "2025-12-31T23:59:00Z");
  assert.equal(event?.lastTimestamp, "2025-12-31T23:59:00Z");
  assert.equal(event?.message, "900 ms");
  await world.stop();
});

test("close: later events are dropped, logged and counted", async () => {
  const world = await EventWorld.start();
  const { events } = world;
  events.ofPod(pod(), STARTED);
  await world.stop();
  events.ofPod(pod("late"), STARTED);
  assert.equal(events.counts.drops.get("closed"), 1);
  assert.equal(world.api.stored.size, 1);
  assert.equal(world.clock.pending, 0);
});

test("history: combined and filtered events are there, and marked", async () => {
  const world = await EventWorld.start();
  for (let i = 1; i <= 12; i += 1)
    world.events.ofPod(pod(), { ...FAILED, reason: "FailedMount", message: `disk ${i}` });
  for (let i = 0; i < 30; i += 1) world.events.ofPod(pod("db"), { ...FAILED, reason: "Unhealthy" });
  await world.clock.advance(SECOND);
  const list = shown(world.events.list());
  assert.deepEqual(list.slice(0, 9), Array(9).fill("FailedMount x1"));
  assert.deepEqual(list.slice(9), [
    ...Array(3).fill("FailedMount x1 combined"),
    "Unhealthy x30 filtered=5",
  ]);
  assert.equal(world.events.list()[10]?.message, "disk 11");
  // The API server has one for the last three.
  const combined = [...world.api.stored.values()].filter(({ message = "" }) =>
    message.startsWith("("),
  );
  assert.equal(combined[0]?.message, "(combined from similar events): disk 12");
  assert.equal(combined[0]?.count, 3);
  await world.stop();
});

test("history: it survives restarts, and what was torn off by a crash costs only itself", async () => {
  const world = await EventWorld.start({ api: false });
  for (let life = 0; life < 3; life += 1) {
    for (let i = 0; i < 3; i += 1) world.events.ofPod(pod(`p${life}`), STARTED);
    await world.clock.advance(SECOND);
    if (life === 0) await world.stop();
    else await world.kill();
    await world.files.append(`${FOLDER}/lifecycle-00000000.jsonl`, '{"s":7,"t":1,"e":{"met', 0o600);
    await world.start();
  }
  const three = Array(3).fill("Started x3");
  assert.deepEqual(shown(world.events.list()), three);
  assert.deepEqual(shown(await world.events.read({})), three);
  world.events.ofPod(pod("p2"), STARTED);
  await world.clock.advance(SECOND);
  // Counting starts over with a new name, as it does on the API server.
  assert.deepEqual(shown(world.events.list()), [...three, "Started x1"]);
  await world.stop();
});

test("history: a probe that fails for a week does not push out the steps of life", async () => {
  const world = await EventWorld.start({ api: false, policy: { historyBytes: 64 * 1024 } });
  world.events.ofPod(pod("old"), STARTED);
  for (let i = 0; i < 5_000; i += 1) {
    world.events.ofPod(pod(`p${i % 50}`), {
      type: "Warning",
      reason: "Unhealthy",
      message: `Liveness probe failed: ${i}`,
    });
    if (i % 50 === 0) await world.clock.advance(10 * SECOND);
  }
  await world.clock.advance(SECOND);
  const all = await world.events.read({});
  assert.equal(all[0]?.reason, "Started");
  assert.equal(all.at(-1)?.message, "Liveness probe failed: 4999");
  const names = (await world.files.list(FOLDER)) ?? [];
  let bytes = 0;
  for (const { name } of names)
    bytes += (await world.files.facts(`${FOLDER}/${name}`))?.sizeBytes ?? 0;
  assert.ok(bytes < 80 * 1024, `${bytes} bytes`);
  assert.ok(world.events.list().length <= 1_000);
  await world.stop();
});

test("history: repeats cost little disk, and every segment can be read by itself", async () => {
  const world = await EventWorld.start({ api: false, policy: { historyBytes: 256 * 1024 } });
  for (let i = 0; i < 1_000; i += 1) {
    world.events.ofPod(pod(`p${i % 3}`), { ...FAILED, reason: "Unhealthy" });
    await world.clock.advance(SECOND);
  }
  const lengths = (await world.text("events-00000001.jsonl"))
    .split("\n")
    .map((line) => line.length);
  assert.ok(lengths.filter((length) => length > 300).length === 3, `${lengths}`);
  await world.files.remove(`${FOLDER}/events-00000000.jsonl`);
  await world.stop();
  await world.start();
  assert.deepEqual(
    shown(await world.events.read({})).map((line) => line.split(" ").slice(0, 2)),
    [
      ["Unhealthy", "x333"],
      ["Unhealthy", "x333"],
      ["Unhealthy", "x334"],
    ],
  );
  await world.stop();
});

test("read: by object, by time, the newest so many", async () => {
  const world = await EventWorld.start({ api: false });
  world.events.ofPod(pod("a"), STARTED);
  await world.clock.advance(600 * SECOND);
  world.events.ofPod(pod("b"), STARTED);
  world.events.ofNode({ type: "Normal", reason: "NodeReady", message: "m" });
  world.events.ofPod(pod("a"), FAILED);
  await world.clock.advance(SECOND);
  const found = async (query: Parameters<typeof world.events.read>[0]) =>
    (await world.events.read(query)).map(
      ({ involvedObject, reason }) => `${involvedObject.name} ${reason}`,
    );
  const a = ["a Started", "a Failed"];
  assert.deepEqual(await found({ kind: "Pod", namespace: "ns", name: "a" }), a);
  assert.deepEqual(await found({ uid: "uid-a" }), a);
  assert.deepEqual(await found({ kind: "Node" }), ["n1 NodeReady"]);
  assert.deepEqual(await found({ namespace: "other" }), []);
  const sinceMs = world.clock.wall() - 60 * SECOND;
  assert.deepEqual(await found({ sinceMs }), ["b Started", "n1 NodeReady", "a Failed"]);
  assert.deepEqual(await found({ limit: 1 }), ["a Failed"]);
  await world.stop();
});

test("history: a disk that takes nothing costs the history on disk and nothing else", async () => {
  const world = await EventWorld.start();
  world.fault = (operation) =>
    operation === "append" ? new OutsideError("exhausted", "no space left") : undefined;
  for (let i = 0; i < 100; i += 1) world.events.ofPod(pod(`p${i}`), STARTED);
  await world.clock.advance(60 * SECOND);
  assert.equal(world.api.stored.size, 100);
  assert.equal(world.events.list().length, 100);
  await world.stop();
});

const step = fc.record({
  pod: fc.integer({ min: 0, max: 5 }),
  reason: fc.constantFrom("Started", "Unhealthy", "FailedMount", "Killing", "BackOff"),
  message: fc.integer({ min: 0, max: 12 }),
  pause: fc.constantFrom(0, 0, 0, 10, 1_000, 30_000),
  away: fc.boolean(),
});

test("whatever happens: everything is accounted for, and order per object is kept", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 120 }), fc.integer(), async (steps, seed) => {
      const world = await EventWorld.start({
        rate: { qps: 20, burst: 5 },
        policy: { waitingEvents: 30 },
      });
      let chance = seed >>> 0;
      let away = false;
      world.api.answer = () => {
        chance = (Math.imul(chance, 1664525) + 1013904223) >>> 0;
        if (away) return AWAY;
        if (chance % 11 === 0) return { kind: "answerLost" };
        return chance % 13 === 0
          ? { kind: "fault", fault: { kind: "status", status: 503 } }
          : { kind: "ok" };
      };
      const reported: string[] = [];
      for (const { pod: n, reason, message, pause, away: isAway } of steps) {
        away = isAway;
        world.events.ofPod(pod(`p${n}`), { type: "Normal", reason, message: `m${message}` });
        reported.push(`p${n} ${reason} m${message}`);
        await world.clock.advance(pause);
        assert.equal(unaccounted(world.events) >= 0, true);
      }
      away = false;
      await world.clock.advance(600 * SECOND);
      assert.equal(world.events.waiting, 0);
      assert.equal(unaccounted(world.events), 0);
      const times = new Map<string, string[]>();
      for (const { key, event, patch, answer } of world.api.requests) {
        const name = world.api.stored.get(key)?.involvedObject.name;
        if (answer === "fault" || name === undefined) continue;
        const time = event?.lastTimestamp ?? patch?.lastTimestamp ?? "";
        times.set(name, [...(times.get(name) ?? []), time]);
      }
      for (const order of times.values()) assert.deepEqual(order, order.toSorted());
      await world.stop();
    }),
    { numRuns: 40 },
  );
});
