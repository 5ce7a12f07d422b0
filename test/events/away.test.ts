// The API server is away: what waits, what is lost, what arrives afterwards; on virtual time.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CoreEvent } from "../../src/api/generated/types.ts";
import { OutsideError } from "../../src/kit/errors.ts";
import { type Answer, AWAY } from "./fake-event-api.ts";
import { EventWorld, FOLDER, pod, shown, unaccounted } from "./world.ts";

const OK: Answer = { kind: "ok" };
const SECOND = 1_000;
const STEPS = [
  ["Pulled", "Container image already present"],
  ["Created", "Container created"],
  ["Started", "Container started"],
  ["Killing", "Stopping container main"],
  ["SandboxChanged", "Pod sandbox changed, it will be killed and re-created."],
] as const;

/** 500 steps of life, one after the other; gives what must arrive. */
async function liveThrough(world: EventWorld, tenMinutes: number): Promise<readonly string[]> {
  const expected: string[] = [];
  for (let i = 0; i < 500; i += 1) {
    const [reason, message] = STEPS[i % 5] as (typeof STEPS)[number];
    const name = `p${Math.floor(i / 5)}`;
    const time = `${new Date(world.clock.wall()).toISOString().slice(0, 19)}Z`;
    world.events.ofPod(pod(name), { type: "Normal", reason, message }, "main");
    expected.push(`${name} ${reason} ${time}`);
    await world.clock.advance(tenMinutes / 500);
  }
  return expected;
}

const arrived = (events: Iterable<CoreEvent>) =>
  [...events].map(
    ({ involvedObject, reason, firstTimestamp }) =>
      `${involvedObject.name} ${reason} ${firstTimestamp}`,
  );

test("ten minutes away: 500 steps of life arrive afterwards, once each, in order, with their times", async () => {
  const world = await EventWorld.start({ rate: { qps: 50, burst: 100 } });
  world.api.answer = () => AWAY;
  const expected = await liveThrough(world, 600 * SECOND);
  assert.equal(world.api.stored.size, 0);
  const triesWhileAway = world.api.requests.length;
  assert.ok(triesWhileAway < 60, `${triesWhileAway} tries`);
  world.api.answer = () => OK;
  await world.clock.advance(45 * SECOND);
  assert.deepEqual(arrived(world.api.stored.values()), expected);
  assert.equal(world.api.requests.length - triesWhileAway, 500);
  for (const event of world.api.stored.values()) {
    assert.equal(event.count, 1);
    assert.equal(event.lastTimestamp, event.firstTimestamp);
  }
  assert.equal(world.events.counts.totals.sent, 500);
  assert.equal(await world.text("waiting.jsonl"), "");
  await world.stop();
});

test("ten minutes away: noise beside them, and the agent killed twice, take nothing of it", async () => {
  const world = await EventWorld.start({ rate: { qps: 50, burst: 100 } });
  world.api.answer = () => AWAY;
  const expected: string[] = [];
  for (let part = 0; part < 5; part += 1) {
    for (let i = part * 100; i < (part + 1) * 100; i += 1) {
      const [reason, message] = STEPS[i % 5] as (typeof STEPS)[number];
      const name = `p${Math.floor(i / 5)}`;
      world.events.ofPod(pod(name), { type: "Normal", reason, message }, "main");
      for (let noise = 0; noise < 10; noise += 1)
        world.events.ofPod(pod(name), { type: "Warning", reason: "Unhealthy", message: "refused" });
      const time = `${new Date(world.clock.wall()).toISOString().slice(0, 19)}Z`;
      expected.push(`${name} ${reason} ${time}`);
      await world.clock.advance(1_200);
    }
    await world.clock.advance(2 * SECOND);
    if (part % 2 === 0) await world.kill();
    else await world.stop();
    await world.start();
  }
  world.api.answer = () => OK;
  await world.clock.advance(120 * SECOND);
  const steps = [...world.api.stored.values()].filter(({ reason }) => reason !== "Unhealthy");
  assert.deepEqual(arrived(steps), expected);
  assert.equal(new Set(steps.map(({ metadata }) => metadata.name)).size, 500);
  const noise = [...world.api.stored.values()].filter(({ reason }) => reason === "Unhealthy");
  assert.ok(noise.length >= 100);
  assert.equal(unaccounted(world.events), 0);
  await world.stop();
});

test("Reference: the same ten minutes lose what was tried meanwhile", async () => {
  const world = await EventWorld.start({
    policy: { mode: "Reference" },
    rate: { qps: 50, burst: 100 },
  });
  world.api.answer = () => AWAY;
  await liveThrough(world, 600 * SECOND);
  world.api.answer = () => OK;
  await world.clock.advance(45 * SECOND);
  // Five or six events were given up after twelve tries each.
  const lost = world.events.counts.drops.get("retries") ?? 0;
  assert.ok(lost >= 5 && lost <= 6, `${lost}`);
  assert.equal(world.api.stored.size, 500 - lost);
  await world.stop();
});

test("full queue: the lowest priority is dropped first, oldest first, counted and reported once", async () => {
  const world = await EventWorld.start({ policy: { waitingEvents: 100 } });
  world.api.answer = () => AWAY;
  const record = (type: "Normal" | "Warning", reason: string, name: string) =>
    world.events.ofPod(pod(name), { type, reason, message: "m" });
  for (let i = 0; i < 60; i += 1) record("Normal", "VolumePermissionChange", `n${i}`);
  for (let i = 0; i < 60; i += 1) record("Warning", "Unhealthy", `w${i}`);
  await world.clock.advance(SECOND);
  for (let i = 0; i < 60; i += 1) record("Normal", "Started", `s${i}`);
  await world.clock.advance(60 * SECOND);
  assert.equal(world.events.waiting, 100);
  world.api.answer = () => OK;
  await world.clock.advance(60 * SECOND);
  const stored = arrived(world.api.stored.values()).map((text) =>
    text.split(" ").slice(0, 2).join(" "),
  );
  const started = Array.from({ length: 60 }, (_, i) => `s${i} Started`);
  const unhealthy = Array.from({ length: 40 }, (_, i) => `w${i + 20} Unhealthy`);
  assert.deepEqual(stored, [...started, ...unhealthy, "n1 EventsDropped"]);
  const [summary] = [...world.api.stored.values()].slice(-1);
  assert.equal(
    summary?.message,
    "80 events were lost between 2026-01-01T00:00:00Z and 2026-01-01T00:00:00Z because the queue was full while they waited for the API server: 60 VolumePermissionChange, 20 Unhealthy",
  );
  assert.equal(world.events.counts.drops.get("waiting"), 80);
  assert.match(world.metrics(), /^nodelet_events_dropped_total\{reason="waiting"\} 80$/m);
  await world.clock.advance(600 * SECOND);
  assert.equal(
    world.api.requests.filter(({ event }) => event?.reason === "EventsDropped").length,
    1,
  );
  await world.stop();
});

test("full queue: a restart does not forget what was lost", async () => {
  const world = await EventWorld.start({ policy: { waitingEvents: 10 } });
  world.api.answer = () => AWAY;
  for (let i = 0; i < 30; i += 1)
    world.events.ofPod(pod(`p${i}`), { type: "Warning", reason: "Unhealthy", message: "m" });
  await world.clock.advance(10 * SECOND);
  await world.kill();
  await world.start();
  world.api.answer = () => OK;
  await world.clock.advance(60 * SECOND);
  const summary = [...world.api.stored.values()].filter(({ reason }) => reason === "EventsDropped");
  assert.equal(summary.length, 1);
  assert.match(summary[0]?.message ?? "", /^20 events were lost/);
  assert.equal(world.api.stored.size, 11);
  await world.stop();
});

const FAILS = { type: "Warning", reason: "FailedMount", message: "no disk" } as const;
const STARTS = { type: "Normal", reason: "Started", message: "Container started" } as const;

test("the event of a start is on disk after a second while the server is away", async () => {
  const world = await EventWorld.start();
  world.api.answer = () => AWAY;
  world.events.ofPod(pod("a"), STARTS);
  world.events.ofPod(pod("b"), FAILS);
  await world.clock.advance(120 * SECOND);
  // The next try comes up to 30 s later.
  world.events.ofPod(pod("c"), STARTS);
  await world.clock.advance(2.5 * SECOND);
  await world.kill();
  world.api.answer = () => OK;
  await world.start();
  await world.clock.advance(2 * SECOND);
  assert.deepEqual(world.api.writes.toSorted(), [
    "create FailedMount",
    "create Started",
    "create Started",
  ]);
  await world.stop();
});

test("the event of a start is on disk when it was deferred for long enough, whatever the sink does", async () => {
  const world = await EventWorld.start({ rate: { qps: 0.01, burst: 1 } });
  world.events.ofPod(pod("a"), FAILS);
  world.events.ofPod(pod("b"), FAILS);
  await world.clock.advance(SECOND);
  // The sink waits 100 s for its turn with the second one.
  world.events.ofPod(pod("c"), STARTS);
  await world.clock.advance(12.5 * SECOND);
  await world.kill();
  await world.start();
  await world.clock.advance(2 * SECOND);
  assert.deepEqual(world.api.writes, ["create FailedMount", "create Started"]);
  await world.stop();
});

test("many starts: what was deferred for them is not spooled, and holds nothing up", async () => {
  const world = await EventWorld.start({ rate: { qps: 50, burst: 100 } });
  let spooled = 0;
  world.fault = (operation, path) => {
    if (operation === "append" && path.endsWith("/waiting.jsonl")) spooled += 1;
    return undefined;
  };
  for (let i = 0; i < 90; i += 1) {
    for (const [reason, message] of STEPS.slice(0, 3))
      world.events.ofPod(pod(`p${i}`), { type: "Normal", reason, message }, "main");
    await world.clock.advance(90);
  }
  await world.clock.advance(1_200);
  const before = world.api.stored.size;
  assert.ok(before > 0 && before < 200, `${before} arrived`);
  world.events.ofPod(pod("other"), { type: "Normal", reason: "Killing", message: "m" }, "main");
  await world.clock.advance(200);
  assert.ok(world.api.writes.includes("create Killing"));
  await world.clock.advance(10 * SECOND);
  assert.equal(world.api.stored.size, 271);
  assert.equal(spooled, 0);
  await world.stop();
});

test("what was lost is reported while pods go on starting", async () => {
  const world = await EventWorld.start({
    policy: { waitingEvents: 40 },
    rate: { qps: 5, burst: 10 },
  });
  world.api.answer = () => AWAY;
  for (let i = 0; i < 50; i += 1) world.events.ofPod(pod(`p${i}`), FAILS);
  await world.clock.advance(5 * SECOND);
  world.api.answer = () => OK;
  for (let i = 0; i < 120; i += 1) {
    world.events.ofPod(pod(`s${i}`), STARTS);
    await world.clock.advance(SECOND / 2);
  }
  assert.ok(world.api.writes.includes("create EventsDropped"));
  await world.stop();
});

test("an answer of the server ends an outage, also one that says that it has the event", async () => {
  const world = await EventWorld.start({ policy: { waitingEvents: 2 } });
  world.api.answer = () => AWAY;
  for (let i = 0; i < 5; i += 1) world.events.ofPod(pod(`p${i}`), FAILS);
  await world.clock.advance(5 * SECOND);
  world.api.answer = () => ({ kind: "answerLost" });
  await world.clock.advance(30 * SECOND);
  world.api.answer = () => OK;
  await world.clock.advance(60 * SECOND);
  assert.equal(world.events.waiting, 0);
  assert.ok([...world.api.stored.values()].some(({ reason }) => reason === "EventsDropped"));
  await world.stop();
});

test("an event that arrived although the agent ended its request is not counted as lost", async () => {
  const world = await EventWorld.start();
  world.api.answer = () => ({ kind: "answerHangs" });
  world.events.ofPod(pod(), FAILS);
  await world.clock.advance(SECOND / 2);
  const { counts } = world.events;
  world.api.answer = () => OK;
  await world.stop();
  assert.equal(counts.totals.sent, 1);
  assert.equal(counts.totals.dropped, 0);
});

test("bytes are bounded too: fewer long messages fit", async () => {
  const world = await EventWorld.start({ policy: { waitingBytes: 100_000 } });
  world.api.answer = () => AWAY;
  for (let i = 0; i < 100; i += 1)
    world.events.ofPod(pod(`p${i}`), {
      type: "Warning",
      reason: "Unhealthy",
      message: "x".repeat(9_300),
    });
  await world.clock.advance(10 * SECOND);
  assert.equal(world.events.waiting, 10);
  assert.ok((await world.text("waiting.jsonl")).length < 120_000);
  await world.stop();
});

test("the file of waiting events stays small while counts go on, and a torn line costs that line only", async () => {
  const world = await EventWorld.start();
  world.api.answer = () => AWAY;
  for (let i = 0; i < 1_000; i += 1) {
    world.events.ofPod(pod(`p${i % 3}`), {
      type: "Normal",
      reason: "Started",
      message: `m${i % 5}`,
    });
    await world.clock.advance(70_000);
  }
  const text = await world.text("waiting.jsonl");
  assert.ok(text.length < 400_000, `${text.length}`);
  const waiting = world.events.waiting;
  await world.kill();
  await world.files.append(`${FOLDER}/waiting.jsonl`, '{"o":99,"e":{"meta', 0o600);
  await world.start();
  assert.equal(world.events.waiting, waiting);
  world.api.answer = () => OK;
  await world.clock.advance(60 * SECOND);
  assert.equal(world.api.stored.size, 15);
  const counts = [...world.api.stored.values()].map(({ count = 0 }) => count);
  assert.equal(
    counts.reduce((sum, count) => sum + count, 0),
    1_000,
  );
  await world.stop();
});

test("a disk that takes nothing: events wait in memory, and arrive", async () => {
  const world = await EventWorld.start();
  world.fault = (operation) =>
    operation === "append" || operation === "writeAtomic"
      ? new OutsideError("exhausted", "no space left")
      : undefined;
  world.api.answer = () => AWAY;
  for (let i = 0; i < 50; i += 1)
    world.events.ofPod(pod(`p${i}`), { type: "Normal", reason: "Started", message: "m" });
  await world.clock.advance(120 * SECOND);
  world.api.answer = () => OK;
  await world.clock.advance(60 * SECOND);
  assert.equal(world.api.stored.size, 50);
  // Once of each: the two rings of the history, and what waits.
  assert.equal(
    world.log.filter((line) => /cannot be written|failed to write events/.test(line)).length,
    3,
  );
  await world.stop();
});

test("the history says what waits on disk, what arrived and what was lost", async () => {
  const world = await EventWorld.start({ policy: { waitingEvents: 2 } });
  world.api.answer = () => AWAY;
  const record = (reason: string, name: string) =>
    world.events.ofPod(pod(name), { type: "Warning", reason, message: "m" });
  record("Unhealthy", "a");
  record("FailedMount", "b");
  await world.clock.advance(5 * SECOND);
  assert.deepEqual(shown(world.events.list()), [
    "Unhealthy x1 spooled=1",
    "FailedMount x1 spooled=1",
  ]);
  record("Evicted", "c");
  await world.clock.advance(5 * SECOND);
  const now = ["Unhealthy x1 dropped=1", "FailedMount x1 spooled=1", "Evicted x1 spooled=1"];
  assert.deepEqual(shown(world.events.list()), now);
  await world.kill();
  await world.start();
  assert.deepEqual(shown(world.events.list()), now);
  world.api.answer = () => OK;
  await world.clock.advance(60 * SECOND);
  const later = ["Unhealthy x1 dropped=1", "FailedMount x1", "Evicted x1", "EventsDropped x1"];
  assert.deepEqual(shown(world.events.list()), later);
  assert.deepEqual(shown(await world.events.read({})), later);
  await world.stop();
});
