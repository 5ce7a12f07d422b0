// Pods as they were allocated, beside pods as they are asked for; and the methods of both.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Pod } from "../../src/api/generated/types.ts";
import { gatesInForce } from "../../src/config/gates/feature-gates.ts";
import { commandOf } from "../sim/programs.ts";
import { type ServedWorld, startWorld } from "./world.ts";

const GATE = { featureGates: { KubeletAllocatedPodsEndpoint: true } };
const SLEEP = { kind: "sleep" } as const;

let world: ServedWorld;
before(async () => {
  world = await startWorld({ config: GATE });
  await world.run("small", SLEEP, containersWith("1Gi"));
  await world.run("other", SLEEP, containersWith("4Gi"));
  await world.untilPhase("small", "Running");
  await world.untilPhase("other", "Running");
});
after(() => world[Symbol.asyncDispose]());

function containersWith(memory: string): Pod["spec"] {
  const resources = { requests: { memory } };
  return {
    containers: [
      { name: "c", image: "nodelet.test/nodelet-test:1", command: commandOf(SLEEP), resources },
    ],
  };
}

const memoryOf = (pods: readonly Pod[], name: string) =>
  pods.find(({ metadata }) => metadata?.name === name)?.spec?.containers[0]?.resources?.requests?.[
    "memory"
  ];

async function podsAt(path: string): Promise<readonly Pod[]> {
  const answer = await world.local(path);
  assert.equal(answer.status, 200, answer.body);
  return (JSON.parse(answer.body) as { readonly items: readonly Pod[] }).items;
}

test("allocatedPods: a resize that is deferred shows the old resources, /pods the new ones", async () => {
  await world.run("small", SLEEP, containersWith("6Gi"));
  await world.until(
    async () => memoryOf(await podsAt("/pods"), "small") === "6Gi",
    "it is asked for",
  );
  const pods = await podsAt("/allocatedPods/");
  assert.deepEqual([memoryOf(pods, "small"), memoryOf(pods, "other")], ["1Gi", "4Gi"]);
  assert.deepEqual(
    pods.map(({ status }) => status),
    [{}, {}],
  );
  const one = JSON.parse((await world.local("/allocatedPods/default/small/uid-small")).body) as Pod;
  assert.deepEqual(
    [one.kind, one.metadata?.uid, memoryOf([one], "small")],
    ["Pod", "uid-small", "1Gi"],
  );
  const same = await world.local("/allocatedPods/default/small");
  assert.deepEqual(JSON.parse(same.body), one);
});

const MISSING = [
  "/allocatedPods/default/none",
  "/allocatedPods/other/small",
  "/allocatedPods/default/small/uid-other",
];

for (const path of MISSING)
  test(`allocatedPods: ${path} is not found`, async () => {
    const { status, body } = await world.local(path);
    assert.deepEqual([status, body.trim()], [404, "pod not found"]);
  });

const READ_ONLY = [
  "/pods",
  "/runningpods/",
  "/allocatedPods",
  "/containerLogs/a/b/c",
  "/logs/",
  "/logs/x",
  "/debug/pprof/",
];

for (const path of READ_ONLY)
  test(`${path} takes GET only`, async () => {
    for (const method of ["POST", "PUT", "DELETE"]) {
      const { status, body, headers } = await world.local(path, method);
      assert.deepEqual([status, body], [405, "405: Method Not Allowed\n"], method);
      assert.equal(headers["allow"], "GET, HEAD");
    }
  });

test("/stats/summary takes POST as well, with a form or without", async () => {
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const node = async (method: string, path: string, options = {}) => {
    const { status, body } = await world.local(path, method, options);
    assert.equal(status, 200, body);
    return (JSON.parse(body) as { readonly node: Record<string, unknown> }).node;
  };
  assert.ok("fs" in (await node("POST", "/stats/summary")));
  const short = await node("POST", "/stats/summary", {
    headers: form,
    body: "only_cpu_and_memory=true",
  });
  assert.ok(!("fs" in short));
  assert.equal((await world.local("/stats/summary", "PUT")).status, 405);
});

test("without its gate there is no /allocatedPods", async () => {
  assert.equal(
    gatesInForce({ compat: "1.37", featureGates: {} }).isEnabled("KubeletAllocatedPodsEndpoint"),
    false,
  );
  await using plain = await startWorld();
  assert.equal((await plain.local("/allocatedPods")).status, 404);
});
