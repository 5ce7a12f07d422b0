// The agent as a node of a cluster, on virtual time.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ObjectReference, Pod } from "../../src/api/generated/types.ts";
import type { ApiRequest } from "../../src/outside/kube/kube.ts";
import { playClusterScenario } from "./cluster-scenario.ts";
import { conditionOf, inCluster, podOf } from "./cluster-world.ts";
import type { Program } from "./programs.ts";
import { MANIFESTS } from "./world.ts";

const HOUR_MS = 3_600_000;

const SLEEP: Program = { kind: "sleep" };

test("a node registers, is Ready, and renews its lease", () =>
  inCluster(async ({ world, api, node }) => {
    await world.advance(3_000);
    assert.equal(conditionOf(node(), "Ready"), "True");
    assert.equal(node()?.metadata?.labels?.["kubernetes.io/os"], "linux");
    const lease = () =>
      api.objects.find({
        collection: "coordination.k8s.io/leases",
        namespace: "kube-node-lease",
        name: "sim",
      })?.spec?.["renewTime"];
    const first = lease();
    await world.advance(11_000);
    assert.notEqual(lease(), first);
    const reported = () =>
      node()?.status?.conditions?.find(({ type }) => type === "Ready")?.lastHeartbeatTime;
    const before = reported();
    await world.advance(60_000);
    assert.equal(reported(), before, "nothing changed, so nothing is sent");
    await world.advance(450_000);
    assert.notEqual(reported(), before, "but the report comes");
  }));

test("events about the node carry the UID of its object", () =>
  inCluster(async ({ world, api, node }) => {
    await world.advance(10_000);
    const uid = node()?.metadata?.uid;
    const place = { collection: "nodes", namespace: undefined, name: "sim" };
    const body = { spec: { unschedulable: true } };
    api.objects.patch(place, false, { body, strategic: true });
    await world.advance(60_000);
    const uids = new Map(
      api.objects.list("events").flatMap(({ involvedObject, reason }) => {
        const object = involvedObject as ObjectReference;
        return object.kind === "Node" ? [[String(reason), object.uid] as const] : [];
      }),
    );
    assert.ok(uid !== undefined);
    assert.equal(uids.get("NodeNotSchedulable"), uid);
    assert.equal(uids.get("NodeAllocatableEnforced"), undefined);
    assert.ok(uids.has("NodeAllocatableEnforced"), [...uids.keys()].join());
  }));

test("a node that was deleted is registered again", () =>
  inCluster(async ({ world, api, node }) => {
    await world.advance(3_000);
    const first = node()?.metadata?.uid;
    api.objects.delete({ collection: "nodes", namespace: undefined, name: "sim" }, {});
    await world.advance(3_000);
    assert.equal(conditionOf(node(), "Ready"), "True");
    assert.notEqual(node()?.metadata?.uid, first);
  }));

/** All that an agent may write of its node (KEP-279, NodeRestriction); who owns it is none of its business. */
const NODE_FIELDS: readonly RegExp[] = [
  /^(apiVersion|kind)$/,
  /^metadata\.(name|uid)$/,
  /^metadata\.(labels|annotations)\./,
  /^spec\.(taints|unschedulable|providerID)/,
  /^status\./,
];

/** Paths of the values in an object, `a.b.c`; a list is one value. */
function pathsOf(value: unknown, path = ""): readonly string[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [path];
  return Object.entries(value).flatMap(([name, inner]) =>
    pathsOf(inner, path === "" ? name : `${path}.${name}`),
  );
}

test("CVE-2025-5187: what the agent writes of its node never says who owns it", () =>
  inCluster(async ({ world, api, node }) => {
    const requests: ApiRequest[] = [];
    const answer = api.request.bind(api);
    api.request = (request, signal) => {
      if (request.method !== "GET" && request.path.includes("/nodes")) requests.push(request);
      return answer(request, signal);
    };
    await world.advance(3_000);
    await world.stopAgent();
    const place = { collection: "nodes", namespace: undefined, name: "sim" };
    api.objects.delete(place, {});
    const owner = { apiVersion: "v1", kind: "ConfigMap", name: "a", uid: "1" };
    const labels = { "kubernetes.io/os": "other" };
    const metadata = { name: "sim", ownerReferences: [owner], finalizers: ["a.b/c"], labels };
    api.objects.create(place, { apiVersion: "v1", kind: "Node", metadata });
    world.startAgent();
    await world.advance(600_000);
    assert.equal(conditionOf(node(), "Ready"), "True");
    assert.equal(node()?.metadata?.labels?.["kubernetes.io/os"], "linux");
    assert.deepEqual(node()?.metadata?.ownerReferences, [owner]);
    const kinds = new Set(requests.map(({ method, path }) => `${method} ${path.split("?")[0]}`));
    const nodes = "/api/v1/nodes";
    for (const kind of [`POST ${nodes}`, `PATCH ${nodes}/sim`, `PATCH ${nodes}/sim/status`])
      assert.ok(kinds.has(kind), `${kind} in ${[...kinds].join(", ")}`);
    const written = new Set(requests.flatMap(({ body }) => pathsOf(JSON.parse(body ?? "{}"))));
    const strange = [...written].filter((path) => !NODE_FIELDS.some((field) => field.test(path)));
    assert.deepEqual(strange, []);
  }));

test("a pod of the API runs, and is gone after its deletion", () =>
  inCluster(async ({ world, api, pod, create }) => {
    await world.advance(3_000);
    create("web", SLEEP);
    await world.advance(5_000);
    assert.equal(pod("web")?.status?.phase, "Running");
    assert.equal(conditionOf(pod("web"), "Ready"), "True");
    api.objects.delete({ collection: "pods", namespace: "default", name: "web" }, {});
    await world.advance(20_000);
    assert.equal(pod("web"), undefined);
    assert.equal(world.runtime.sandboxes.size, 0);
  }));

test("a pod's life costs a write for being Ready, one for its containers' end and one for its own", () =>
  inCluster(async ({ world, api, pod, create }) => {
    await world.stopAgent();
    const requests: string[] = [];
    const answer = api.request.bind(api);
    api.request = (request, signal) => {
      if (request.path.includes("/pods/")) requests.push(`${request.method} ${request.path}`);
      return answer(request, signal);
    };
    world.startAgent();
    await world.advance(3_000);
    create("web", SLEEP);
    await world.advance(5_000);
    assert.equal(conditionOf(pod("web"), "Ready"), "True");
    const path = "/api/v1/namespaces/default/pods/web";
    // What was known before it ran went with that: nobody has to be notified twice within a moment.
    assert.deepEqual(requests.splice(0), [`PATCH ${path}/status`]);
    api.objects.delete({ collection: "pods", namespace: "default", name: "web" }, {});
    await world.advance(20_000);
    assert.equal(pod("web"), undefined);
    assert.deepEqual(requests.at(-1), `DELETE ${path}`);
    assert.ok(requests.length <= 3, requests.join("\n"));
  }));

test("a pod whose start takes its time is seen to be created meanwhile", () =>
  inCluster(async ({ world, api, pod }) => {
    await world.advance(3_000);
    const { spec, ...waiting } = podOf("slow", SLEEP, "Always");
    const volumes = [{ name: "settings", configMap: { name: "not-there-yet" } }];
    const place = { collection: "pods", namespace: "default" };
    api.objects.create(place, { ...waiting, spec: { ...(spec as object), volumes } });
    await world.advance(1_500);
    assert.equal(pod("slow")?.status?.phase, "Pending");
    const [main] = pod("slow")?.status?.containerStatuses ?? [];
    assert.equal(main?.state?.waiting?.reason, "ContainerCreating");
  }));

test("a pod that ended stays ended, also when the node has lost its notes", () =>
  inCluster(async ({ world, pod, create }) => {
    create("job", { kind: "exit", code: 3, afterMs: 2_000 }, "Never");
    await world.advance(10_000);
    assert.equal(pod("job")?.status?.phase, "Failed");
    const started = world.runtime.actions.length;
    await world.stopAgent();
    for (const id of [...world.runtime.containers.keys()]) world.runtime.containers.delete(id);
    for (const id of [...world.runtime.sandboxes.keys()]) world.runtime.sandboxes.delete(id);
    await world.host.files.remove("/var/lib/kubelet/nodelet/pod-statuses.jsonl");
    world.startAgent();
    await world.advance(30_000);
    assert.equal(pod("job")?.status?.phase, "Failed");
    const actions = world.runtime.actions.slice(started).map(({ op }) => op);
    assert.deepEqual(
      actions.filter((op) => /start|create/i.test(op)),
      [],
    );
  }));

test("a pod whose time was up stays so over a restart of the agent, with the reason", () =>
  inCluster(async ({ world, api, pod }) => {
    const late = podOf("late", SLEEP, "OnFailure") as unknown as Pod;
    const spec = { ...late.spec, activeDeadlineSeconds: 5 };
    api.objects.create({ collection: "pods", namespace: "default" }, { ...late, spec });
    const fixed = { apiVersion: "v1", kind: "Pod", metadata: { name: "fixed" }, spec };
    const { files } = world.host;
    await files.writeAtomic(`${MANIFESTS}/fixed.yaml`, JSON.stringify(fixed), 0o644);
    await world.advance(30_000);
    const both = () =>
      ["late", "fixed-sim"].map(
        (name) => `${pod(name)?.status?.phase} ${pod(name)?.status?.reason}`,
      );
    const over = ["Failed DeadlineExceeded", "Failed DeadlineExceeded"];
    assert.deepEqual(both(), over);
    const started = world.runtime.actions.length;
    await world.stopAgent();
    world.startAgent();
    await world.advance(30_000);
    assert.deepEqual(both(), over);
    const actions = world.runtime.actions.slice(started).map(({ op }) => op);
    assert.deepEqual(
      actions.filter((op) => /start|create|run/i.test(op)),
      [],
    );
  }));

test("what an agent made for a pod that never had a sandbox is removed by the next one", () =>
  inCluster(async ({ world, api, pod }) => {
    await world.advance(3_000);
    world.runtime.refused.add("runSandbox");
    const late = podOf("late", SLEEP, "OnFailure") as unknown as Pod;
    const spec = { ...late.spec, activeDeadlineSeconds: 20 };
    api.objects.create({ collection: "pods", namespace: "default" }, { ...late, spec });
    await world.advance(5_000);
    const group = `/kubepods/besteffort/pod${pod("late")?.metadata?.uid}`;
    assert.equal(await world.host.cgroups.exists(group), true);
    await world.stopAgent();
    await world.advance(30_000);
    world.startAgent();
    await world.advance(30_000);
    assert.equal(pod("late")?.status?.reason, "DeadlineExceeded");
    assert.equal(await world.host.cgroups.exists(group), false);
  }));

test("the API is away for an hour: pods keep running, and it learns what happened meanwhile", () =>
  inCluster(async ({ world, api, pod, node, create }) => {
    create("web", SLEEP);
    create("job", { kind: "exit", code: 0, afterMs: 600_000 }, "Never");
    await world.advance(10_000);
    assert.equal(pod("job")?.status?.phase, "Running");
    const id = pod("web")?.status?.containerStatuses?.[0]?.containerID;
    api.goDown();
    const late = JSON.stringify(podOf("late", SLEEP, "Always"));
    await world.advance(HOUR_MS / 2);
    await world.host.files.writeAtomic(`${MANIFESTS}/late.json`, late, 0o644);
    await world.advance(HOUR_MS / 2);
    assert.equal(pod("job")?.status?.phase, "Running", "nothing could reach it");
    api.comeBack();
    await world.advance(5_000);
    assert.equal(pod("job")?.status?.phase, "Succeeded");
    assert.equal(pod("web")?.status?.containerStatuses?.[0]?.containerID, id);
    assert.equal(pod("web")?.status?.containerStatuses?.[0]?.restartCount, 0);
    assert.equal(conditionOf(node(), "Ready"), "True");
    await world.advance(60_000);
    const stated = api.objects
      .list("events")
      .map(
        ({ involvedObject, reason }) =>
          `${(involvedObject as { name: string }).name} ${String(reason)}`,
      );
    assert.ok(stated.includes("late-sim Started"), `the API got: ${stated.join(", ")}`);
  }));

test("an agent that starts while the API is away ends nothing, and goes on when it is back", () =>
  inCluster(async ({ world, api, pod, create }) => {
    create("web", SLEEP);
    await world.advance(10_000);
    const id = pod("web")?.status?.containerStatuses?.[0]?.containerID;
    world.killAgent();
    api.goDown();
    world.startAgent();
    await world.advance(600_000);
    assert.equal(
      [...world.runtime.containers.values()].filter(({ state }) => state === "running").length,
      1,
    );
    api.objects.delete({ collection: "pods", namespace: "default", name: "web" }, {});
    create("other", SLEEP);
    api.comeBack();
    await world.advance(30_000);
    assert.equal(pod("web"), undefined);
    assert.equal(pod("other")?.status?.phase, "Running");
    assert.notEqual(pod("other")?.status?.containerStatuses?.[0]?.containerID, id);
    assert.equal(world.runtime.sandboxes.size, 1);
  }));

test("a pod that cannot be observed any more before its source was read is no orphan", () =>
  inCluster(async ({ world, api, pod, create }) => {
    create("web", SLEEP);
    await world.advance(10_000);
    const sandboxes = [...world.runtime.sandboxes.keys()];
    world.killAgent();
    api.goDown();
    world.startAgent();
    await world.advance(10_000);
    // It was observed when the agent began; of what happens now the runtime does not report it.
    world.runtime.refused.add("containerStatus");
    for (const id of world.runtime.containers.keys()) world.runtime.exitContainer(id, 1);
    await world.advance(120_000);
    api.comeBack();
    await world.advance(120_000);
    world.runtime.refused.delete("containerStatus");
    await world.advance(120_000);
    assert.deepEqual([...world.runtime.sandboxes.keys()], sandboxes);
    assert.equal(pod("web")?.status?.containerStatuses?.[0]?.restartCount, 1);
    assert.equal(conditionOf(pod("web"), "Ready"), "True");
  }));

test("a static pod has a mirror, which is made again when deleted and goes with the pod", () =>
  inCluster(async ({ world, api, pod }) => {
    const manifest = JSON.stringify(podOf("fixed", SLEEP, "Always"));
    await world.host.files.writeAtomic(`${MANIFESTS}/fixed.json`, manifest, 0o644);
    await world.advance(25_000);
    const mirror = pod("fixed-sim");
    assert.equal(mirror?.status?.phase, "Running");
    assert.equal(conditionOf(mirror, "Ready"), "True");
    assert.equal(mirror?.metadata?.ownerReferences?.[0]?.kind, "Node");
    api.objects.delete({ collection: "pods", namespace: "default", name: "fixed-sim" }, {});
    await world.advance(5_000);
    assert.notEqual(pod("fixed-sim")?.metadata?.uid, mirror?.metadata?.uid);
    assert.equal(conditionOf(pod("fixed-sim"), "Ready"), "True");
    assert.equal(world.runtime.sandboxes.size, 1, "the pod itself ran on");
    await world.host.files.remove(`${MANIFESTS}/fixed.json`);
    await world.advance(40_000);
    assert.equal(pod("fixed-sim"), undefined);
    assert.equal(world.runtime.sandboxes.size, 0);
  }));

test("a mirror that nobody's static pod stands behind is deleted", () =>
  inCluster(async ({ world, api, pod }) => {
    const left = podOf("left-sim", SLEEP, "Always");
    api.objects.create(
      { collection: "pods", namespace: "default" },
      {
        ...left,
        metadata: { name: "left-sim", annotations: { "kubernetes.io/config.mirror": "x" } },
      },
    );
    await world.advance(25_000);
    assert.equal(pod("left-sim"), undefined);
    assert.equal(world.runtime.sandboxes.size, 0);
  }));

test("a pod that does not fit on the node is rejected, with the reason", () =>
  inCluster(async ({ world, api, pod }) => {
    const large = podOf("large", SLEEP, "Always");
    const spec = large["spec"] as { containers: readonly object[] };
    const containers = spec.containers.map((container) => ({
      ...container,
      resources: { requests: { cpu: "1000" } },
    }));
    api.objects.create(
      { collection: "pods", namespace: "default" },
      { ...large, spec: { ...spec, containers } },
    );
    await world.advance(10_000);
    const status = pod("large")?.status;
    assert.equal(status?.phase, "Failed");
    assert.equal(status?.reason, "OutOfcpu");
    world.killAgent();
    await world.advance(1_000);
    world.startAgent();
    await world.advance(60_000);
    assert.deepEqual(pod("large")?.status, status, "a restart changed the status");
    api.objects.delete({ collection: "pods", namespace: "default", name: "large" }, {});
    await world.advance(10_000);
    assert.equal(pod("large"), undefined);
  }));

test("a status that somebody else has changed is put right, and what is not ours is left", () =>
  inCluster(async ({ world, api, pod, create }) => {
    create("web", SLEEP);
    await world.advance(10_000);
    const place = { collection: "pods", namespace: "default", name: "web" };
    const gate = { type: "example.com/gate", status: "True" };
    const conditions = [...(pod("web")?.status?.conditions ?? []), gate];
    const status = { phase: "Pending", conditions };
    api.objects.patch(place, true, { body: { status }, strategic: false });
    await world.advance(15_000);
    assert.equal(pod("web")?.status?.phase, "Running");
    assert.equal(conditionOf(pod("web"), "example.com/gate"), "True");
  }));

for (const seed of [1, 2, 3, 4, 5])
  test(`seed ${seed}: after fault injection the API shows the actual state, and nothing is left over`, () =>
    playClusterScenario(seed));

test("a pod that asks for another node is rejected", () =>
  inCluster(async ({ world, api, pod }) => {
    await world.advance(3_000);
    const other = podOf("other", SLEEP, "Always");
    const spec = { ...(other["spec"] as object), nodeSelector: { disk: "ssd" } };
    api.objects.create({ collection: "pods", namespace: "default" }, { ...other, spec });
    await world.advance(5_000);
    assert.equal(pod("other")?.status?.reason, "NodeAffinity");
    assert.match(pod("other")?.status?.message ?? "", /^Pod was rejected: Predicate NodeAffinity/);
  }));
