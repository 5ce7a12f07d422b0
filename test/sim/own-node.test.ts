// What the agent makes of its own node in the API, on virtual time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { conditionOf, inCluster } from "./cluster-world.ts";
import { Refusal, type StoredObject } from "./fake-api-objects.ts";

const NODE = { collection: "nodes", namespace: undefined, name: "sim" };

test("a node that exists is adopted by an agent that may not create nodes", () =>
  inCluster(async ({ world, api, node }) => {
    const { objects } = api;
    const create = objects.create.bind(objects);
    const metadata = { name: "sim", labels: { "example.com/rack": "7" } };
    objects.create = (place, object) => {
      if (place.collection === "nodes") throw new Refusal(403, "Forbidden", "nodes is forbidden");
      return create(place, object);
    };
    await world.advance(20_000);
    assert.equal(node(), undefined, "nobody has made it yet");
    create(NODE, { kind: "Node", apiVersion: "v1", metadata } as unknown as StoredObject);
    await world.advance(30_000);
    assert.equal(conditionOf(node(), "Ready"), "True");
    assert.equal(node()?.metadata?.labels?.["example.com/rack"], "7");
    assert.equal(node()?.metadata?.labels?.["kubernetes.io/os"], "linux");
  }));

test("events tell once when the node is cordoned, and when that is lifted", () =>
  inCluster(async ({ world, api, node }) => {
    await world.advance(30_000);
    const told = () =>
      api.objects
        .list("events")
        .filter(({ reason }) => /^Node(?:Not)?Schedulable$/.test(String(reason)))
        .map(({ type, reason, message }) => `${String(type)} ${String(reason)} ${String(message)}`);
    const cordon = (unschedulable: boolean) => {
      const now = { ...node(), spec: { unschedulable } };
      api.objects.update(NODE, false, now as unknown as StoredObject);
    };
    assert.deepEqual(told(), []);
    cordon(true);
    await world.advance(60_000);
    const no = "Normal NodeNotSchedulable Node sim status is now: NodeNotSchedulable";
    assert.deepEqual(told(), [no]);
    cordon(false);
    await world.advance(60_000);
    const yes = "Normal NodeSchedulable Node sim status is now: NodeSchedulable";
    assert.deepEqual(told().toSorted(), [no, yes]);
  }));
