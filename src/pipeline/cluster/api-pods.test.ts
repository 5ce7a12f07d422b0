import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeApiServer } from "../../../test/sim/fake-apiserver.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import type { Pod } from "../../api/generated/types.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { silentLog } from "../../kit/log.ts";
import { createSeededRandom } from "../../kit/random.ts";
import { KubeClient } from "../../outside/kube/kube.ts";
import { ApiPods } from "./api-pods.ts";

const PLACE = { collection: "pods", namespace: "default", name: "web" };
const SPEC = { nodeName: "node", containers: [{ name: "main", image: "nodelet.test/x:1" }] };

test("a pod keeps one spec while only the rest of it changes", async () => {
  const clock = new SimClock();
  const random = createSeededRandom(1);
  const server = new FakeApiServer(clock, random);
  const client = new KubeClient({}, { transport: server, clock, log: silentLog });
  const ready = async () => {};
  const pods = new ApiPods("node", { client, clock, random, log: silentLog, ready });
  const desired: IdentifiedPod[] = [];
  const ending = new AbortController();
  const sink = { setDesired: (pod: IdentifiedPod) => desired.push(pod), drop() {}, synced() {} };
  const following = pods.follow(sink, ending.signal);
  server.objects.create(PLACE, { metadata: { name: "web" }, spec: SPEC });
  await clock.advance(1_000);
  const specs = () => [
    pods.get(desired[0]?.metadata.uid ?? "")?.spec,
    ...desired.map((p) => p.spec),
  ];
  const change = (body: object, status: boolean) =>
    server.objects.patch(PLACE, status, { body, strategic: true });
  change({ status: { phase: "Running" } }, true);
  await clock.advance(1_000);
  assert.equal(pods.get(desired[0]?.metadata.uid ?? "")?.status?.phase, "Running");
  change({ metadata: { labels: { tier: "front" } } }, false);
  await clock.advance(1_000);
  assert.equal(desired.length, 2, "labels are passed on, a status of our own is not");
  assert.equal(desired[1]?.metadata.labels?.["tier"], "front");
  assert.equal(new Set(specs()).size, 1);
  pods.learn({
    ...structuredClone(desired[1]),
    metadata: { ...desired[1]?.metadata, resourceVersion: "999" },
  });
  assert.equal(new Set(specs()).size, 1, "what a write answered shares it, too");
  change({ spec: { activeDeadlineSeconds: 5 } }, false);
  await clock.advance(1_000);
  assert.equal(desired[2]?.spec?.activeDeadlineSeconds, 5, "another spec replaces it");
  assert.notEqual(desired[2]?.spec, desired[1]?.spec);
  ending.abort();
  await assert.rejects(following);
});

test("the answer to a write is held, not the same object decoded once more from the watch", async () => {
  const clock = new SimClock();
  const random = createSeededRandom(1);
  const server = new FakeApiServer(clock, random);
  const client = new KubeClient({}, { transport: server, clock, log: silentLog });
  const pods = new ApiPods("node", {
    client,
    clock,
    random,
    log: silentLog,
    ready: async () => {},
  });
  const seen: IdentifiedPod[] = [];
  pods.subscribe((pod) => seen.push(pod));
  const ending = new AbortController();
  const sink = { setDesired() {}, drop() {}, synced() {} };
  const following = pods.follow(sink, ending.signal);
  server.objects.create(PLACE, { metadata: { name: "web" }, spec: SPEC });
  await clock.advance(1_000);
  const body = { status: { phase: "Running" } };
  const written = server.objects.patch(PLACE, true, { body, strategic: true });
  pods.learn(structuredClone<object>(written) as Pod);
  const held = pods.get(seen[0]?.metadata.uid ?? "");
  assert.equal(held?.status?.phase, "Running");
  await clock.advance(1_000);
  assert.equal(seen.length, 2);
  assert.equal(seen[1], held);
  assert.equal(pods.get(held?.metadata.uid ?? ""), held);
  ending.abort();
  await assert.rejects(following);
});
