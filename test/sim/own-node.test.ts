// What the agent makes of its own node in the API, on virtual time.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node } from "../../src/api/generated/types.ts";
import { OutsideError } from "../../src/kit/errors.ts";
import { conditionOf, inCluster, podOf } from "./cluster-world.ts";
import { Refusal, type StoredObject } from "./fake-api-objects.ts";
import type { Program } from "./programs.ts";
import { MANIFESTS } from "./world.ts";

const SLEEP: Program = { kind: "sleep" };
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

test("events report once when the node is cordoned, and when that is lifted", () =>
  inCluster(async ({ world, api, node }) => {
    await world.advance(30_000);
    const reported = () =>
      api.objects
        .list("events")
        .filter(({ reason }) => /^Node(?:Not)?Schedulable$/.test(String(reason)))
        .map(({ type, reason, message }) => `${String(type)} ${String(reason)} ${String(message)}`);
    const cordon = (unschedulable: boolean) => {
      const now = { ...node(), spec: { unschedulable } };
      api.objects.update(NODE, false, now as unknown as StoredObject);
    };
    assert.deepEqual(reported(), []);
    cordon(true);
    await world.advance(60_000);
    const no = "Normal NodeNotSchedulable Node sim status is now: NodeNotSchedulable";
    assert.deepEqual(reported(), [no]);
    cordon(false);
    await world.advance(60_000);
    const yes = "Normal NodeSchedulable Node sim status is now: NodeSchedulable";
    assert.deepEqual(reported().toSorted(), [no, yes]);
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

test("the API is asked for the node after a failure only: else its watch reports what is there", () =>
  inCluster(async ({ world, api, node }) => {
    await world.advance(30_000);
    const asked: string[] = [];
    let refusals = 0;
    const answer = api.request.bind(api);
    api.request = async (request, signal) => {
      if (!request.path.startsWith("/api/v1/nodes/sim")) return await answer(request, signal);
      asked.push(`${request.method} ${request.path.slice("/api/v1/nodes/".length)}`);
      if (request.method !== "PATCH" || refusals === 0) return await answer(request, signal);
      refusals -= 1;
      return { status: 409, headers: {}, body: JSON.stringify({ kind: "Status", code: 409 }) };
    };
    world.killAgent();
    world.startAgent();
    await world.advance(30_000);
    assert.ok(asked.includes("GET sim"), "an agent that starts adopts the node that is there");
    asked.length = 0;
    await world.advance(60_000);
    assert.deepEqual(asked, []);
    const { "kubernetes.io/os": os, ...labels } = node()?.metadata?.labels ?? {};
    assert.equal(os, "linux");
    const now = { ...node(), metadata: { ...node()?.metadata, labels } };
    api.objects.update(NODE, false, now as unknown as StoredObject);
    await world.advance(30_000);
    assert.equal(node()?.metadata?.labels?.["kubernetes.io/os"], "linux");
    assert.deepEqual(asked.splice(0), ["PATCH sim"]);
    refusals = 1;
    world.host.ips = ["192.0.2.12"];
    await world.advance(30_000);
    assert.deepEqual(shown(node()), ["192.0.2.12", "sim"]);
    assert.deepEqual(asked, ["PATCH sim/status", "GET sim", "PATCH sim/status"]);
  }));

const PROVIDED = "alpha.kubernetes.io/provided-node-ip";
const shown = (node: Node | undefined) => node?.status?.addresses?.map(({ address }) => address);

test("the node follows the machine's address within 10 s, and keeps the last one while there is none", () =>
  inCluster(async ({ world, node, create, pod }) => {
    await world.advance(15_000);
    assert.deepEqual(shown(node()), ["192.0.2.10", "sim"]);
    world.host.ips = ["192.0.2.11", "172.17.0.1"];
    await world.advance(10_000);
    assert.deepEqual(shown(node()), ["192.0.2.11", "sim"]);
    world.host.ips = [];
    await world.advance(30_000);
    assert.deepEqual(shown(node()), ["192.0.2.11", "sim"]);
    create("web", { kind: "sleep" });
    await world.advance(3_000);
    assert.equal(pod("web")?.status?.hostIP, "192.0.2.11");
  }));

test("the node shows what DNS says of its name, also while DNS cannot say", () =>
  inCluster(async ({ world, node }) => {
    world.host.ips = ["192.0.2.10", "10.9.0.2"];
    world.host.names.set("sim", ["203.0.113.9", "10.9.0.2"]);
    await world.advance(20_000);
    assert.deepEqual(shown(node()), ["10.9.0.2", "sim"]);
    world.host.names.set("sim", new OutsideError("unavailable", "lookup sim: EAI_AGAIN"));
    await world.advance(30_000);
    assert.deepEqual(shown(node()), ["10.9.0.2", "sim"]);
    world.host.names.delete("sim");
    await world.advance(30_000);
    assert.deepEqual(shown(node()), ["192.0.2.10", "sim"]);
  }));

test("with a cloud its addresses stay, and what the user gave is kept up to date for it", () => {
  const flags = { externalCloud: true, agent: { nodeIps: ["192.0.2.10"] } };
  return inCluster(
    async ({ world, api, node }) => {
      await world.advance(15_000);
      assert.deepEqual(shown(node()), ["192.0.2.10", "sim"]);
      assert.equal(node()?.metadata?.annotations?.[PROVIDED], "192.0.2.10");
      const addresses = [{ type: "InternalIP", address: "198.51.100.7" }];
      for (const isStatus of [true, false]) {
        const metadata = { ...node()?.metadata, annotations: { [PROVIDED]: "192.0.2.66" } };
        const now = { ...node(), metadata, status: { ...node()?.status, addresses } };
        api.objects.update(NODE, isStatus, now as unknown as StoredObject);
      }
      await world.advance(30_000);
      assert.deepEqual(shown(node()), ["198.51.100.7"]);
      assert.equal(node()?.metadata?.annotations?.[PROVIDED], "192.0.2.10");
    },
    {},
    flags,
  );
});

test("with a cloud and no address of the user the node shows its name only, and no stale annotation", () =>
  inCluster(
    async ({ world, api, node }) => {
      const metadata = { name: "sim", annotations: { [PROVIDED]: "192.0.2.66" } };
      api.objects.create(NODE, {
        kind: "Node",
        apiVersion: "v1",
        metadata,
      } as unknown as StoredObject);
      await world.advance(30_000);
      assert.deepEqual(shown(node()), ["sim"]);
      assert.equal(node()?.metadata?.annotations?.[PROVIDED], undefined);
    },
    {},
    { externalCloud: true },
  ));

test("pods are notified when the node's first address is of another family than before", () =>
  inCluster(async ({ world, api, create, pod }) => {
    create("web", { kind: "sleep" });
    await world.advance(15_000);
    assert.equal(pod("web")?.status?.hostIP, "192.0.2.10");
    world.host.ips = ["2001:db8::7"];
    await world.advance(90_000);
    const reported = api.objects
      .list("events")
      .filter(({ reason }) => reason === "HostIPsIPFamilyMismatch")
      .map(({ type, message }) => `${String(type)} ${String(message)}`);
    assert.deepEqual(reported, [
      "Warning Kubelet detected an IPv4 node IP (192.0.2.10), but the cloud provider selected an IPv6 node IP (2001:db8::7); pass an explicit `--node-ip` to kubelet to fix this.",
    ]);
  }));

test("the runtime gets the addresses for pods, again when it could not be, and when they change", () =>
  inCluster(async ({ world, api, node }) => {
    await world.advance(15_000);
    assert.deepEqual(world.runtime.podCidrs, []);
    const give = (podCIDRs: readonly string[]) =>
      api.objects.update(NODE, false, { ...node(), spec: { podCIDRs } } as unknown as StoredObject);
    give(["10.7.0.0/24", "2001:db8:7::/64"]);
    await world.advance(20_000);
    assert.deepEqual(world.runtime.podCidrs, ["10.7.0.0/24,2001:db8:7::/64"]);
    world.killAgent();
    world.startAgent();
    await world.advance(30_000);
    assert.equal(world.runtime.podCidrs.length, 2);
  }));

test("a node is Ready as soon as the runtime has made its network of the addresses for pods", () =>
  inCluster(async ({ world, api, node }) => {
    const isReady = () =>
      node()?.status?.conditions?.find(({ type }) => type === "Ready")?.status === "True";
    world.runtime.options.networkReady = false;
    await world.advance(16_000);
    assert.equal(isReady(), false);
    const spec = { podCIDRs: ["10.7.0.0/24"] };
    api.objects.update(NODE, false, { ...node(), spec } as unknown as StoredObject);
    await world.advance(200);
    world.runtime.options.networkReady = true;
    await world.advance(800);
    assert.equal(isReady(), true);
  }));

test("pods of the API are watched once the node's own object is there; static pods run before", () =>
  inCluster(
    async ({ world, api, pod, create, node }) => {
      const paths: string[] = [];
      const { request, watch } = { request: api.request.bind(api), watch: api.watch.bind(api) };
      const note = (path: string) => {
        if (path.startsWith("/api/v1/pods")) paths.push(path);
      };
      api.request = (each, signal) => {
        note(each.path);
        return request(each, signal);
      };
      api.watch = (each, signal) => {
        note(each.path);
        return watch(each, signal);
      };
      const manifest = JSON.stringify(podOf("fixed", SLEEP, "Always"));
      await world.host.files.writeAtomic(`${MANIFESTS}/fixed.json`, manifest, 0o644);
      create("web", SLEEP);
      await world.advance(120_000);
      assert.equal(node(), undefined);
      assert.deepEqual(paths, []);
      assert.equal(world.runtime.sandboxes.size, 1, "the static pod");
      assert.equal(pod("web")?.status?.phase ?? "Pending", "Pending");
      api.objects.create(NODE, { apiVersion: "v1", kind: "Node", metadata: { name: "sim" } });
      await world.advance(1_000);
      assert.notDeepEqual(paths, []);
      await world.advance(20_000);
      assert.equal(pod("web")?.status?.phase, "Running");
      assert.equal(world.runtime.sandboxes.size, 2);
    },
    {},
    { config: { registerNode: false } },
  ));
