// The sink against a server that the test scripts, on virtual time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answer, AWAY, refusal } from "./fake-event-api.ts";
import { EventWorld, pod, unaccounted } from "./world.ts";

const MOUNT = { type: "Warning", reason: "FailedMount", message: "no disk" } as const;
const STARTED = { type: "Normal", reason: "Started", message: "Container started" } as const;
const KILLING = { type: "Normal", reason: "Killing", message: "Stopping container" } as const;
const OK: Answer = { kind: "ok" };

test("Protected: create, then patches with count, time and message", async () => {
  const world = await EventWorld.start();
  for (let i = 0; i < 3; i += 1) {
    world.events.ofPod(pod(), MOUNT);
    await world.clock.advance(10_000);
  }
  assert.deepEqual(world.api.writes, [
    "create FailedMount",
    "patch FailedMount 2",
    "patch FailedMount 3",
  ]);
  assert.deepEqual(world.api.requests[2]?.patch, {
    count: 3,
    lastTimestamp: "2026-01-01T00:00:20Z",
    message: "no disk",
  });
  const [stored] = world.api.stored.values();
  assert.equal(stored?.count, 3);
  assert.equal(stored?.firstTimestamp, "2026-01-01T00:00:00Z");
  assert.equal(world.events.counts.totals.sent, 3);
  await world.stop();
});

for (const mode of ["Protected", "Reference"] as const) {
  const begin = () => EventWorld.start({ policy: { mode } });

  test(`${mode}: an event that the server has forgotten is made again with its count`, async () => {
    const world = await begin();
    world.events.ofPod(pod(), MOUNT);
    await world.clock.advance(1_000);
    world.api.stored.clear();
    world.events.ofPod(pod(), MOUNT);
    await world.clock.advance(1_000);
    const verbs = world.api.requests.map(({ verb, answer }) => `${verb} ${answer}`);
    assert.deepEqual(verbs, ["create ok", "patch ok", "create ok"]);
    const [stored] = world.api.stored.values();
    assert.equal(stored?.count, 2);
    await world.stop();
  });

  test(`${mode}: V5, an event that was filtered first is patched, then made`, async () => {
    const world = await begin();
    const reason = mode === "Reference" ? (i: number) => `R${i}` : () => "Late";
    for (let i = 0; i < 25; i += 1)
      world.events.ofPod(pod(), { ...MOUNT, reason: reason(i), message: `m${i % 9}` });
    const late = { ...MOUNT, reason: "Late", message: "late" };
    world.events.ofPod(pod(), late);
    await world.clock.advance(300_000);
    const before = world.api.requests.length;
    world.events.ofPod(pod(), late);
    await world.clock.advance(1_000);
    const after = world.api.requests.slice(before).map(({ verb }) => verb);
    assert.deepEqual(after, ["patch", "create"]);
    assert.equal([...world.api.stored.values()].at(-1)?.count, 2);
    assert.equal(world.events.counts.drops.get("filtered"), 1);
    await world.stop();
  });

  test(`${mode}: what a refusal means`, async () => {
    const rows = [
      { answer: refusal(409, "AlreadyExists"), why: "exists", reported: false },
      {
        answer: refusal(403, "Forbidden", ["NamespaceTerminating"]),
        why: "namespaceGone",
        reported: false,
      },
      { answer: refusal(403, "Forbidden"), why: "rejected", reported: true },
      { answer: refusal(422, "Invalid"), why: "rejected", reported: true },
      { answer: { kind: "fault", fault: { kind: "construct" } }, why: "construct", reported: true },
    ] as const;
    for (const { answer, why, reported } of rows) {
      const world = await begin();
      let refused = 0;
      world.api.answer = ({ event }) => {
        if (event?.reason !== "FailedMount") return OK;
        refused += 1;
        return answer;
      };
      world.events.ofPod(pod(), MOUNT);
      world.events.ofPod(pod(), STARTED);
      await world.clock.advance(200_000);
      assert.equal(refused, 1, why);
      assert.equal(world.events.counts.drops.get(why), 1);
      assert.deepEqual(world.api.writes, ["create Started"]);
      assert.equal(
        world.log.some((line) => line.startsWith("E ")),
        reported,
        why,
      );
      assert.equal(unaccounted(world.events), 0);
      await world.stop();
    }
  });

  test(`${mode}: at the end what waits gets one try each`, async () => {
    const world = await begin();
    for (let i = 0; i < 5; i += 1) world.events.ofPod(pod(`p${i}`), STARTED);
    await world.stop();
    assert.equal(world.api.stored.size, 5);
  });
}

test("Reference: twelve tries for an event, the first pause random, then ten seconds each", async () => {
  const world = await EventWorld.start({ policy: { mode: "Reference" } });
  const at: number[] = [];
  world.api.answer = ({ event }) => {
    if (event?.reason === "Started") return OK;
    at.push(world.clock.monotonic());
    return AWAY;
  };
  world.events.ofPod(pod(), MOUNT);
  world.events.ofPod(pod(), STARTED);
  await world.clock.advance(200_000);
  const pauses = at.slice(1).map((time, i) => time - (at[i] as number));
  assert.equal(at.length, 12);
  assert.ok((pauses[0] as number) < 10_000);
  assert.deepEqual(pauses.slice(1), Array(10).fill(10_000));
  assert.equal(world.events.counts.drops.get("retries"), 1);
  assert.deepEqual(world.api.writes, ["create Started"]);
  await world.stop();
});

test("Reference: an answer that is not an event is tried again, a status 500 is not", async () => {
  const world = await EventWorld.start({ policy: { mode: "Reference" } });
  const answers: Answer[] = [
    { kind: "fault", fault: { kind: "unexpectedObject" } },
    OK,
    refusal(500, "InternalError"),
  ];
  world.api.answer = () => answers.shift() ?? OK;
  world.events.ofPod(pod("a"), MOUNT);
  world.events.ofPod(pod("b"), MOUNT);
  await world.clock.advance(60_000);
  assert.equal(world.api.requests.length, 3);
  assert.equal(world.events.counts.totals.sent, 1);
  assert.equal(world.events.counts.drops.get("rejected"), 1);
  await world.stop();
});

test("Reference: what does not fit the queue of 1000 is lost, sleeping retries end with the agent", async () => {
  const world = await EventWorld.start({ policy: { mode: "Reference" } });
  world.api.answer = () => AWAY;
  for (let i = 0; i < 1100; i += 1) {
    world.events.ofPod(pod(`p${i}`), MOUNT);
    if (i % 100 === 0) await world.clock.advance(0);
  }
  await world.clock.advance(1);
  // One is being tried, a thousand wait.
  assert.equal(world.events.counts.drops.get("queue"), 99);
  await world.stop();
});

test("Protected: a server that has too much to do is tried again, after the time it asks for", async () => {
  const world = await EventWorld.start();
  const at: number[] = [];
  const busy: Answer = {
    kind: "fault",
    fault: { kind: "status", status: 429, reason: "TooManyRequests", retryAfterMs: 45_000 },
  };
  const answers: Answer[] = [busy, refusal(503), refusal(401, "Unauthorized"), OK];
  world.api.answer = () => {
    at.push(world.clock.monotonic());
    return answers.shift() ?? OK;
  };
  world.events.ofPod(pod(), STARTED);
  await world.clock.advance(120_000);
  assert.deepEqual(world.api.writes, ["create Started"]);
  assert.equal((at[1] as number) - (at[0] as number), 45_000);
  assert.ok((at[3] as number) - (at[1] as number) < 10_000);
  await world.stop();
});

test("Protected: an event that the server always fails on gives way after twelve tries", async () => {
  const world = await EventWorld.start();
  world.api.answer = ({ event }) =>
    event?.reason === "FailedMount" ? refusal(500, "InternalError") : OK;
  world.events.ofPod(pod(), MOUNT);
  world.events.ofPod(pod("other"), { ...MOUNT, reason: "Failed" });
  await world.clock.advance(600_000);
  assert.equal(world.api.requests.length, 13);
  assert.equal(world.events.counts.drops.get("retries"), 1);
  assert.deepEqual(world.api.writes, ["create Failed"]);
  await world.stop();
});

test("Protected: an answer that was lost does not make the event twice", async () => {
  const world = await EventWorld.start();
  const answers: Answer[] = [{ kind: "answerLost" }, OK, { kind: "answerLost" }, OK];
  world.api.answer = () => answers.shift() ?? OK;
  world.events.ofPod(pod(), STARTED);
  await world.clock.advance(5_000);
  world.events.ofPod(pod(), STARTED);
  await world.clock.advance(5_000);
  assert.equal(world.api.stored.size, 1);
  assert.equal([...world.api.stored.values()][0]?.count, 2);
  assert.equal(world.events.counts.totals.sent, 2);
  assert.equal(world.events.counts.totals.dropped, 0);
  await world.stop();
});

test("Protected: writes keep to the rate", async () => {
  const world = await EventWorld.start({ rate: { qps: 50, burst: 100 } });
  const at: number[] = [];
  world.api.answer = () => {
    at.push(world.clock.monotonic());
    return OK;
  };
  for (let i = 0; i < 400; i += 1) world.events.ofPod(pod(`p${i}`), KILLING);
  await world.clock.advance(10_000);
  assert.equal(at.length, 400);
  assert.equal(at.filter((time) => time === 0).length, 100);
  for (let i = 0; i < at.length; i += 1)
    for (const span of [100, 1_000, 3_000]) {
      const from = at[i] as number;
      const within = at.filter((time) => time >= from && time < from + span).length;
      assert.ok(within <= 100 + (span * 50) / 1000 + 1, `${within} in ${span} ms`);
    }
  const last = at.at(-1) as number;
  assert.ok(last >= 5_900 && last <= 6_100, `${last}`);
  await world.stop();
});

for (const mode of ["Protected", "Reference"] as const)
  test(`${mode}: eventRecordQPS 0 is no limit, 500 events are written at once`, async () => {
    const world = await EventWorld.start({ policy: { mode }, rate: { qps: 0, burst: 100 } });
    const at: number[] = [];
    world.api.answer = () => {
      at.push(world.clock.monotonic());
      return OK;
    };
    for (let i = 0; i < 500; i += 1) world.events.ofPod(pod(`p${i}`), KILLING);
    await world.clock.advance(1_000);
    assert.equal(at.length, 500);
    assert.deepEqual(new Set(at), new Set([0]));
    await world.stop();
  });

test("Protected: steps of life overtake noise about other objects, never about their own", async () => {
  const world = await EventWorld.start({ rate: { qps: 10, burst: 1 } });
  const noise = (i: number) => ({ ...MOUNT, message: `m${i}` });
  for (let i = 0; i < 100; i += 1) world.events.ofPod(pod(`p${i}`), noise(i));
  world.events.ofPod(pod("p50"), KILLING);
  await world.clock.advance(2_000);
  const early = world.api.requests.map(
    ({ event }) => `${event?.involvedObject.name} ${event?.reason}`,
  );
  const killing = early.indexOf("p50 Killing");
  assert.ok(killing > 0 && killing < 4, early.join());
  assert.equal(early[killing - 1], "p50 FailedMount");
  await world.clock.advance(60_000);
  assert.equal(world.api.stored.size, 101);
  await world.stop();
});

/** Seconds at which the server was asked to write an event about each pod. */
async function writeTimes(
  world: EventWorld,
  emit: (record: (name: string, text: typeof STARTED | typeof MOUNT) => void) => Promise<void>,
): Promise<Record<string, number>> {
  const at: Record<string, number> = {};
  world.api.answer = ({ event }) => {
    at[`${event?.involvedObject.name}`] ??= world.clock.monotonic() / 1_000;
    return OK;
  };
  await emit((name, text) => world.events.ofPod(pod(name), text));
  await world.clock.advance(30_000);
  await world.stop();
  return at;
}

/** So many pods that their starts, recorded at once, are not sent after 200 ms. */
const MANY = ["a", "b", "c", "d", "e", "f", "g"];

test("Protected: the events of many starts are written when no other pod has started for a second", async () => {
  const world = await EventWorld.start();
  const at = await writeTimes(world, async (record) => {
    for (const name of MANY) record(name, STARTED);
    await world.clock.advance(600);
    record("later", STARTED);
    await world.clock.advance(600);
    record("other", MOUNT);
  });
  const starts = [...MANY, "later"].map((name) => [name, 1.6]);
  assert.deepEqual(at, { ...Object.fromEntries(starts), other: 1.2 });
});

test("Protected: the event of the start of a pod or two is written after 200 ms", async () => {
  const world = await EventWorld.start();
  const at = await writeTimes(world, async (record) => {
    record("a", STARTED);
    await world.clock.advance(100);
    record("b", STARTED);
    await world.clock.advance(600);
    record("c", STARTED);
  });
  assert.deepEqual(at, { a: 0.3, b: 0.3, c: 0.9 });
});

test("Protected: starts that never cease defer it for ten seconds", async () => {
  const world = await EventWorld.start();
  const at = await writeTimes(world, async (record) => {
    for (let i = 0; i < 200; i += 1) {
      record(`p${i}`, STARTED);
      await world.clock.advance(100);
    }
  });
  // The last one came at 19.9 s; by 20.9 s it is quiet.
  const due = (i: number) => Math.min((i * 100 + 10_000) / 1_000, 20.9);
  assert.deepEqual(
    at,
    Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`p${i}`, due(i)])),
  );
});

test("Protected: a failure of the pod takes its start along", async () => {
  const world = await EventWorld.start();
  const at = await writeTimes(world, async (record) => {
    for (const name of MANY) record(name, STARTED);
    record("failing", STARTED);
    await world.clock.advance(500);
    record("failing", MOUNT);
  });
  const starts = MANY.map((name) => [name, 1]);
  assert.deepEqual(at, { ...Object.fromEntries(starts), failing: 0.5 });
});

test("Protected: of counts that wait only the latest is sent, and all are accounted for", async () => {
  const world = await EventWorld.start();
  world.api.answer = () => AWAY;
  for (let i = 0; i < 20; i += 1) {
    world.events.ofPod(pod(), MOUNT);
    await world.clock.advance(1_000);
  }
  assert.equal(world.events.waiting, 2);
  world.api.answer = () => OK;
  await world.clock.advance(60_000);
  assert.deepEqual(world.api.writes, ["create FailedMount", "patch FailedMount 20"]);
  assert.deepEqual(world.events.counts.totals, {
    recorded: 20,
    restored: 0,
    sent: 2,
    aggregated: 18,
    kept: 0,
    dropped: 0,
  });
  assert.match(world.metrics(), /^nodelet_events_total\{outcome="aggregated"\} 18$/m);
  await world.stop();
});
