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

test("pods show the addresses that the node has in the API", () =>
  inCluster(async ({ world, api, pod, node, create }) => {
    await world.advance(15_000);
    const addresses = [
      { type: "ExternalIP", address: "198.51.100.7" },
      { type: "InternalIP", address: "192.0.2.77" },
      { type: "InternalIP", address: "2001:db8::77" },
    ];
    const now = { ...node(), status: { ...node()?.status, addresses } };
    api.objects.update(NODE, true, now as unknown as StoredObject);
    create("web", { kind: "sleep" });
    await world.advance(3_000);
    const { hostIP, hostIPs } = pod("web")?.status ?? {};
    assert.deepEqual(
      [hostIP, hostIPs],
      ["192.0.2.77", [{ ip: "192.0.2.77" }, { ip: "2001:db8::77" }]],
    );
  }));
