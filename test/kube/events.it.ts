// Events against a real API server: the vectors of the correlator, refusals, and a server that goes away.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { CoreEvent, Pod } from "../../src/api/generated/types.ts";
import { createSystemClock } from "../../src/kit/clock.ts";
import type { EventMode } from "../../src/subsystems/events/events.ts";
import { type ApiServer, apiServerObstacle, startApiServer } from "./apiserver.ts";
import { EventModule, storedEvents } from "./event-module.ts";

const skip = apiServerObstacle() ?? false;
let server: ApiServer;
let namespaces = 0;
before(async () => {
  if (!skip) server = await startApiServer();
});
after(async () => {
  if (!skip) await server[Symbol.asyncDispose]();
});

async function newNamespace(): Promise<string> {
  namespaces += 1;
  const name = `events-${namespaces}`;
  await server.must("POST", "/api/v1/namespaces", { metadata: { name } });
  return name;
}

const podIn = (namespace: string, name = "web"): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace, uid: `uid-${name}` },
  spec: { containers: [{ name: "main" }] },
});

type RecordEvent = (message: string, reason?: string) => void;
type Pass = (seconds: number) => Promise<void>;

interface Vector {
  readonly name: string;
  readonly modes: readonly EventMode[];
  readonly live: (record: RecordEvent, pass: Pass) => Promise<void> | void;
  /** `message xcount` of each event that the server has. */
  readonly stored: readonly string[];
}

const BOTH: readonly EventMode[] = ["Protected", "Reference"];
const messages = (n: number) => Array.from({ length: n }, (_, i) => `m${i + 1}`);

const VECTORS: readonly Vector[] = [
  {
    name: "V1: the same event three times is one with a count",
    modes: BOTH,
    live: async (record, pass) => {
      for (let i = 0; i < 3; i += 1) {
        record("no disk");
        await pass(10);
      }
    },
    stored: ["no disk x3"],
  },
  {
    name: "V2: from the tenth message on similar events are one",
    modes: BOTH,
    live: (record) => {
      for (const message of messages(12)) record(message);
    },
    stored: [
      ...messages(9).map((message) => `${message} x1`),
      "(combined from similar events): m12 x3",
    ],
  },
  {
    name: "V3: a repeated message is counted in its first event",
    modes: BOTH,
    live: (record) => {
      for (const message of [...messages(9), "m1"]) record(message);
    },
    stored: [
      "m1 x2",
      ...messages(9)
        .slice(1)
        .map((message) => `${message} x1`),
    ],
  },
  {
    name: "V4: 25 at once about one pod, then one in 300 s",
    modes: ["Reference"],
    live: async (record, pass) => {
      for (let i = 1; i <= 26; i += 1) record("no", `Reason${i}`);
      await pass(300);
      record("yes", "Reason27");
      record("no", "Reason28");
    },
    stored: [...Array<string>(25).fill("no x1"), "yes x1"],
  },
  {
    name: "V4 of lanes: each reason has its own 25",
    modes: ["Protected"],
    live: async (record, pass) => {
      for (let i = 1; i <= 26; i += 1) record("no", `Reason${i}`);
      await pass(300);
      record("yes", "Reason27");
    },
    stored: [...Array<string>(26).fill("no x1"), "yes x1"],
  },
  {
    name: "V5: what was filtered first arrives with its count",
    modes: ["Reference"],
    live: async (record, pass) => {
      for (let i = 1; i <= 25; i += 1) record("no", `Reason${i}`);
      record("late");
      await pass(300);
      record("late");
    },
    stored: [...Array<string>(25).fill("no x1"), "late x2"],
  },
  {
    name: "V6: similar events are forgotten after 600 s of silence",
    modes: BOTH,
    live: async (record, pass) => {
      for (const message of messages(9)) record(message);
      await pass(601);
      record("m10");
    },
    stored: messages(10).map((message) => `${message} x1`),
  },
];

for (const { name, modes, live, stored } of VECTORS)
  for (const mode of modes)
    test(`${mode}: ${name}`, { skip }, async () => {
      const namespace = await newNamespace();
      await using eventModule = await EventModule.start(server, { policy: { mode } });
      const record: RecordEvent = (message, reason = "FailedMount") =>
        eventModule.events.ofPod(podIn(namespace), { type: "Warning", reason, message });
      await live(record, (seconds) => eventModule.pass(seconds * 1000));
      await eventModule.settled();
      const events = await storedEvents(server, namespace);
      assert.deepEqual(
        events.map(({ message, count }) => `${message} x${count}`),
        stored,
      );
      for (const event of events) assertWhole(event);
    });

/** Everything that the Go kubelet sets is there, and nothing of our own. */
function assertWhole(event: CoreEvent): void {
  const { metadata, involvedObject, source, firstTimestamp, lastTimestamp } = event;
  assert.match(metadata.name ?? "", /^web\.[0-9a-f]{16}$/);
  assert.equal(metadata.annotations, undefined);
  assert.equal(metadata.labels, undefined);
  assert.deepEqual(involvedObject, {
    kind: "Pod",
    namespace: metadata.namespace,
    name: "web",
    uid: "uid-web",
    apiVersion: "v1",
  });
  assert.deepEqual(source, { component: "kubelet", host: "n1" });
  assert.ok((firstTimestamp ?? "") <= (lastTimestamp ?? ""), `${firstTimestamp} ${lastTimestamp}`);
  if (!event.message?.startsWith("(combined"))
    assert.deepEqual([event.reportingComponent, event.reportingInstance], ["kubelet", "n1"]);
}

test("a namespace that ends, one that is not there, and one that the server forgot", {
  skip,
}, async () => {
  const ending = await newNamespace();
  await server.must("DELETE", `/api/v1/namespaces/${ending}`);
  for (const mode of BOTH) {
    await using eventModule = await EventModule.start(server, { policy: { mode } });
    const record = (namespace: string) =>
      eventModule.events.ofPod(podIn(namespace), {
        type: "Normal",
        reason: "Started",
        message: "Container started",
      });
    record(ending);
    record("nowhere");
    await eventModule.settled();
    const drops = Object.fromEntries(eventModule.events.counts.drops);
    assert.deepEqual(
      drops,
      mode === "Reference" ? { namespaceGone: 1, rejected: 1 } : { namespaceGone: 2 },
    );
    const here = await newNamespace();
    record(here);
    await eventModule.settled();
    await server.must("DELETE", `/api/v1/namespaces/${here}/events`);
    record(here);
    await eventModule.settled();
    assert.deepEqual(
      (await storedEvents(server, here)).map(({ count }) => count),
      [2],
    );
  }
});

test("an event about the node, a past one, and one with annotations", { skip }, async () => {
  await using eventModule = await EventModule.start(server);
  const { events } = eventModule;
  events.ofNode({ type: "Normal", reason: "Starting", message: "Starting kubelet." });
  const at = Date.UTC(2026, 0, 1, 5, 6, 7) as Parameters<
    typeof events.recorder.pastEventf
  >[1]["at"];
  const node = { kind: "Node", apiVersion: "v1", name: "n1" };
  events.recorder.pastEventf(node, { type: "Warning", reason: "Rebooted", at }, "boot %s", "id");
  const annotations = { "example.test/a": "b" };
  const reported = { type: "Normal", reason: "Noted", annotations } as const;
  events.recorder.annotatedEventf(node, reported, "with %d", 1);
  await eventModule.settled();
  const stored = (await storedEvents(server, "default")).filter(
    ({ source }) => source?.component === "kubelet",
  );
  assert.deepEqual(
    stored.map(({ reason, message }) => `${reason} ${message}`),
    ["Starting Starting kubelet.", "Rebooted boot id", "Noted with 1"],
  );
  assert.equal(stored[1]?.firstTimestamp, "2026-01-01T05:06:07Z");
  assert.equal(stored[1]?.lastTimestamp, "2026-01-01T05:06:07Z");
  assert.deepEqual(stored[2]?.metadata.annotations, annotations);
  const table = await server.kubectl([
    "get",
    "events",
    "--field-selector",
    "involvedObject.kind=Node",
  ]);
  assert.match(table, /Normal +Starting +node\/n1 +Starting kubelet\./);
});

test("the server is away: 500 steps of life arrive afterwards, once each, with their times", {
  skip,
}, async () => {
  const namespace = await newNamespace();
  const rate = { qps: 50, burst: 100 };
  await using eventModule = await EventModule.start(server, { clock: createSystemClock(), rate });
  const steps = ["Pulled", "Created", "Started", "Killing", "SandboxChanged"];
  const expected: string[] = [];
  await server.kill();
  for (let i = 0; i < 500; i += 1) {
    const name = `p${Math.floor(i / 5)}`;
    const reason = steps[i % 5] ?? "";
    // Times have whole seconds: not so near to the next one that the event has another than this reading.
    while (Date.now() % 1_000 > 900) await sleep(10);
    const time = `${new Date().toISOString().slice(0, 19)}Z`;
    eventModule.events.ofPod(
      podIn(namespace, name),
      { type: "Normal", reason, message: "m" },
      "main",
    );
    expected.push(`${name} ${reason} ${time} ${time} x1`);
    await sleep(10);
    // The agent is restarted in the middle of it.
    if (i === 250) {
      await eventModule.stop();
      await eventModule.start();
    }
  }
  await sleep(2_000);
  const spool = join(eventModule.folder, "events", "waiting.jsonl");
  assert.ok(readFileSync(spool, "utf8").includes('"name":"p99'), "they wait on disk");
  assert.equal(eventModule.events.waiting, 500);
  await server.start();
  const began = performance.now();
  await eventModule.settled();
  const tookMs = performance.now() - began;
  const stored = await storedEvents(server, namespace);
  assert.deepEqual(
    stored.map(
      ({ involvedObject, reason, firstTimestamp, lastTimestamp, count }) =>
        `${involvedObject.name} ${reason} ${firstTimestamp} ${lastTimestamp} x${count}`,
    ),
    expected,
  );
  const versions = stored.map(({ metadata }) => Number(metadata.resourceVersion));
  assert.deepEqual(
    versions,
    versions.toSorted((a, b) => a - b),
    "in order",
  );
  assert.ok(tookMs > 6_000, `at 50 a second and 100 at once, and not in ${tookMs} ms`);
  await sleep(1_500);
  assert.equal(existsSync(spool), false, "nothing waits on disk any more");
});
