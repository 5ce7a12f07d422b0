import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type ServedWorld, startWorld } from "./world.ts";

const TOP = "/apis/metrics.k8s.io/v1beta1";

let world: ServedWorld;
before(async () => {
  world = await startWorld();
  for (const name of ["web", "db"]) {
    await world.run(name, { kind: "sleep" });
    await world.untilPhase(name, "Running");
  }
  for (const { uid, observed } of world.agent.pipeline.pods.list()) {
    const group = `/kubepods/besteffort/pod${uid}`;
    for (const { id } of observed.containers) {
      await world.host.cgroups.create(`${group}/${id}`);
      world.host.cgroups.set(`${group}/${id}`, "cpu.stat", "usage_usec 1000000");
      world.host.cgroups.set(`${group}/${id}`, "memory.current", "1048576");
    }
  }
  world.host.cgroups.set("/", "cpu.stat", "usage_usec 9000000");
});
after(() => world[Symbol.asyncDispose]());

interface Item {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}
interface Items {
  readonly kind: string;
  readonly items: readonly Item[];
}

async function get<T>(path: string, status = 200): Promise<T> {
  const answer = await world.local(path);
  assert.equal(answer.status, status, `${path}: ${answer.body}`);
  return JSON.parse(answer.body) as T;
}

const names = ({ items }: Items) => items.map(({ metadata }) => metadata.name).sort();

test("lists and single objects as metrics-server has them", async () => {
  const all = await get<Items>(`${TOP}/pods`);
  assert.deepEqual([all.kind, ...names(all)], ["PodMetricsList", "db", "web"]);
  assert.deepEqual(names(await get<Items>(`${TOP}/namespaces/default/pods`)), ["db", "web"]);
  assert.deepEqual(names(await get<Items>(`${TOP}/namespaces/other/pods`)), []);
  const one = await get<Item & { readonly containers: readonly object[] }>(
    `${TOP}/namespaces/default/pods/web`,
  );
  assert.equal(one.kind, "PodMetrics");
  assert.deepEqual(one.containers, [{ name: "c", usage: { cpu: "0n", memory: "1024Ki" } }]);
  assert.deepEqual(names(await get<Items>(`${TOP}/nodes`)), ["node-1"]);
  assert.equal((await get<Item>(`${TOP}/nodes/node-1`)).kind, "NodeMetrics");
});

test("selectors choose, and those that cannot be read are refused", async () => {
  const chosen = async (query: string) => names(await get<Items>(`${TOP}/pods?${query}`));
  assert.deepEqual(await chosen("fieldSelector=metadata.name%3Dweb"), ["web"]);
  assert.deepEqual(await chosen("fieldSelector=metadata.name!%3Dweb"), ["db"]);
  assert.deepEqual(await chosen("labelSelector=app%3Dnone"), []);
  const { message } = await get<{ readonly message: string }>(
    `${TOP}/pods?labelSelector=%3D%3D`,
    400,
  );
  assert.match(message, /^labelSelector: /);
});

test("what is not there is reported in metrics-server's words, and nothing of it is on the network", async () => {
  const missing = await get<{ readonly message: string }>(
    `${TOP}/namespaces/default/pods/none`,
    404,
  );
  assert.equal(missing.message, 'pods.metrics.k8s.io "default/none" not found');
  assert.equal(
    (await get<{ readonly name: string }>("/apis/metrics.k8s.io")).name,
    "metrics.k8s.io",
  );
  assert.equal((await world.secure(`${TOP}/nodes`)).status, 401);
});
