import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeApiServer } from "../../../test/sim/fake-apiserver.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import type { PodStatus } from "../../api/generated/types.ts";
import type { PodUid } from "../../api/observation.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { Cell } from "../../kit/cell.ts";
import { silentLog } from "../../kit/log.ts";
import { MetricsRegistry } from "../../kit/metrics.ts";
import { createSeededRandom } from "../../kit/random.ts";
import { KubeClient } from "../../outside/kube/kube.ts";
import { ApiPods } from "./api-pods.ts";
import { StatusWriter } from "./status-writer.ts";

const PLACE = { collection: "pods", namespace: "default", name: "web" };
const SPEC = { nodeName: "node", containers: [{ name: "main", image: "nodelet.test/x:1" }] };
const STARTED = "2026-01-01T00:00:00Z";

/** A status as the agent derives it. */
function running(ready: "True" | "False", more: PodStatus = {}): PodStatus {
  const conditions = ["Ready", "ContainersReady"].map((type) => {
    return { type, status: ready, lastTransitionTime: STARTED };
  });
  return { phase: "Running", qosClass: "BestEffort", startTime: STARTED, conditions, ...more };
}

/** A writer with one pod, of which the API has `published`. */
async function world(published: PodStatus) {
  const clock = new SimClock();
  const random = createSeededRandom(1);
  const server = new FakeApiServer(clock, random);
  const metrics = new MetricsRegistry();
  const client = new KubeClient({}, { transport: server, clock, log: silentLog });
  const ready = async () => {};
  const api = new ApiPods("node", { client, clock, random, log: silentLog, ready });
  const found: IdentifiedPod[] = [];
  const ending = new AbortController();
  const sink = { setDesired: (pod: IdentifiedPod) => found.push(pod), drop() {}, synced() {} };
  server.objects.create(PLACE, { metadata: { name: "web" }, spec: SPEC });
  server.objects.patch(PLACE, true, { body: { status: published }, strategic: true });
  const reachable = new Cell(true);
  const writer = new StatusWriter({ client, reachable, api, clock, log: silentLog, metrics });
  api.subscribe((pod) => writer.apiChanged(pod));
  const loops = [api.follow(sink, ending.signal), writer.run(ending.signal)];
  await clock.advance(1_000);
  const [pod] = found as [IdentifiedPod];
  const uid = pod.metadata.uid as PodUid;
  const patches = () => server.effects.filter((effect) => effect.startsWith("PATCH"));
  return {
    clock,
    server,
    set: (status: PodStatus) => writer.set(uid, { uid, pod, status, ended: false }),
    /** Requests until now, after so many milliseconds. */
    after: async (ms: number) => {
      await clock.advance(ms);
      return patches().length;
    },
    end: async () => {
      ending.abort();
      await Promise.allSettled(loops);
    },
  };
}

test("the first status of a pod waits a second, and what follows within it is the same request", async () => {
  const { set, after, end } = await world({ phase: "Pending" });
  set({ phase: "Pending", startTime: STARTED });
  assert.equal(await after(400), 0);
  set(running("False"));
  assert.equal(await after(500), 0);
  assert.equal(await after(200), 1);
  set(running("False", { podIP: "192.0.2.1" }));
  assert.equal(await after(200), 1, "later ones wait a quarter of it");
  assert.equal(await after(100), 2);
  await end();
});

test("readiness is written at once, also the first that an agent writes of a pod", async () => {
  const { set, after, end } = await world(running("True"));
  set(running("True"));
  assert.equal(await after(60_000), 0, "the API has it");
  set(running("False"));
  assert.equal(await after(50), 1);
  await end();
});

test("readiness that changed while no agent ran is written at once", async () => {
  const { set, after, end } = await world(running("True"));
  set(running("False"));
  assert.equal(await after(50), 1);
  await end();
});

test("what an agent before this one wrote does not make the next change a first one", async () => {
  const { set, after, end } = await world(running("True"));
  set(running("True", { podIP: "192.0.2.1" }));
  assert.equal(await after(200), 0);
  assert.equal(await after(100), 1);
  await end();
});

test("the readiness of the containers is written at once, for which a readiness gate waits", async () => {
  const { set, after, end } = await world({ phase: "Pending" });
  const [ready, containers] = [running("False"), running("True")].map(
    ({ conditions = [] }) => conditions,
  );
  set({
    ...running("False"),
    conditions: [...(ready ?? []).slice(0, 1), ...(containers ?? []).slice(1)],
  });
  assert.equal(await after(50), 1);
  await end();
});

test("a change that is due no sooner than what the writer waits for does not wake it", async () => {
  const { clock, set, after, end } = await world({ phase: "Pending" });
  set({ phase: "Pending", startTime: STARTED });
  await after(100);
  let alarms = 0;
  const alarm = clock.alarm.bind(clock);
  clock.alarm = (...args) => {
    alarms += 1;
    return alarm(...args);
  };
  set(running("False"));
  await after(0);
  assert.equal(alarms, 0, "no other wait has begun");
  set(running("True"));
  assert.equal(await after(50), 1, "what is urgent ends the wait");
  assert.ok(alarms > 0);
  await end();
});

test("a status that becomes urgent by what somebody else has written is written at once", async () => {
  const { server, set, after, end } = await world(running("True"));
  set(running("True", { podIP: "192.0.2.1" }));
  assert.equal(await after(10), 0);
  const foreign = { status: running("False") };
  server.objects.patch(PLACE, true, { body: foreign, strategic: true });
  assert.equal(await after(150), 1);
  await end();
});
