// What of statuses gets to the API and what not, on virtual time.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../src/api/generated/types.ts";
import { conditionOf, inCluster, podOf } from "./cluster-world.ts";
import type { StoredObject } from "./fake-api-objects.ts";
import type { FakeApiServer } from "./fake-apiserver.ts";
import { commandOf, type Program } from "./programs.ts";
import { MANIFESTS } from "./world.ts";

const SLEEP: Program = { kind: "sleep" };
const POLITE: Program = { kind: "polite" };
const PODS = { collection: "pods", namespace: "default" };
const UNWRITTEN = /W cluster: the API server does not have a pod's status/;

test("where a pod comes from is what the node saw, not what the pod says of itself", () =>
  inCluster(async ({ world, api, pod }) => {
    const claiming = podOf("claims", SLEEP, "Always");
    const annotations = {
      "kubernetes.io/config.source": "file",
      "kubernetes.io/config.seen": "2020-01-01T00:00:00Z",
      "kubernetes.io/config.hash": "x",
    };
    api.objects.create(
      { collection: "pods", namespace: "default" },
      { ...claiming, metadata: { name: "claims", annotations } },
    );
    await world.advance(15_000);
    assert.equal(pod("claims")?.status?.phase, "Running");
    assert.equal(conditionOf(pod("claims"), "Ready"), "True");
    const uid = pod("claims")?.metadata?.uid;
    const known = world.agent?.pipeline.pods.list().find((record) => record.uid === uid);
    const seen = known?.pod.metadata?.annotations ?? {};
    assert.equal(seen["kubernetes.io/config.source"], "api");
    assert.notEqual(seen["kubernetes.io/config.seen"], annotations["kubernetes.io/config.seen"]);
    assert.deepEqual(pod("claims")?.metadata?.annotations, annotations, "the API's own stays");
    api.objects.delete({ collection: "pods", namespace: "default", name: "claims" }, {});
    await world.advance(30_000);
    assert.equal(pod("claims"), undefined);
  }));

test("a status that is not written for more than 10 s is reported with its reason, once", () =>
  inCluster(async ({ world, api, pod }) => {
    const prep = { kind: "exit", code: 0, afterMs: 40_000 } as const;
    const template = podOf("again", POLITE, "OnFailure") as unknown as Pod;
    const image = template.spec?.containers[0]?.image;
    const initContainers = [{ name: "prep", image, command: commandOf(prep) }];
    api.objects.create(PODS, { ...template, spec: { ...template.spec, initContainers } });
    await world.advance(60_000);
    assert.equal(conditionOf(pod("again"), "Ready"), "True");
    const [sandbox] = world.runtime.sandboxes.keys();
    world.runtime.killSandbox(sandbox ?? "");
    await world.advance(35_000);
    assert.equal(conditionOf(pod("again"), "Ready"), "False", "what the API takes is written");
    assert.equal(pod("again")?.status?.phase, "Pending", "it is being initialized again");
    const reported = () => world.trace.filter((line) => UNWRITTEN.test(line));
    assert.match(reported().join(), /terminated init container prep attempted illegal transition/);
    assert.equal(reported().length, 1);
    await world.advance(60_000);
    assert.equal(conditionOf(pod("again"), "Ready"), "True");
    assert.equal(pod("again")?.status?.phase, "Running");
    api.goDown();
    world.runtime.killSandbox([...world.runtime.sandboxes.keys()].at(-1) ?? "");
    await world.advance(60_000);
    assert.match(reported()[1] ?? "", /the API server does not answer/);
    api.comeBack();
    await world.advance(60_000);
    assert.equal(conditionOf(pod("again"), "Ready"), "True");
    assert.equal(reported().length, 2);
  }));

/** What another agent has written of the pod meanwhile: it became ready later. */
function writeLater(api: FakeApiServer, name: string, later: string): void {
  const place = { ...PODS, name };
  const found = api.objects.find(place) as unknown as Pod;
  const conditions = (found.status?.conditions ?? []).map((each) =>
    each.type === "Ready" ? { ...each, lastTransitionTime: later } : each,
  );
  const status = { ...found.status, conditions };
  api.objects.update(place, true, { ...found, status } as unknown as StoredObject);
}

test("what another agent has written since stands: a condition keeps the later time", () =>
  inCluster(async ({ world, api, pod, create }) => {
    create("web", SLEEP);
    const manifest = JSON.stringify(podOf("own", SLEEP, "Always"));
    await world.host.files.writeAtomic(`${MANIFESTS}/own.json`, manifest, 0o644);
    await world.advance(20_000);
    await world.stopAgent();
    await world.advance(5_000);
    const later = new Date(world.clock.wall()).toISOString().replace(/\.\d+/, "");
    for (const name of ["web", "own-sim"]) writeLater(api, name, later);
    await world.advance(5_000);
    world.startAgent();
    await world.advance(30_000);
    const times = ["web", "own-sim"].map(
      (name) =>
        pod(name)?.status?.conditions?.find(({ type }) => type === "Ready")?.lastTransitionTime,
    );
    assert.deepEqual(times, [later, later]);
    const [sandbox] = world.runtime.sandboxes.keys();
    world.runtime.killSandbox(sandbox ?? "");
    await world.advance(60_000);
    const own = world.agent?.pipeline.statuses.list().map(({ status }) => status.conditions);
    assert.ok(
      own?.flat().some((each) => each?.type === "Ready" && (each.lastTransitionTime ?? "") > later),
    );
  }));

test("a mirror pod is tried less and less often in a namespace that is being deleted", () =>
  inCluster(async ({ world, api, pod }) => {
    api.objects.terminating.add("going");
    const own = podOf("own", SLEEP, "Always") as unknown as Pod;
    const manifest = { ...own, metadata: { name: "own", namespace: "going" } };
    const other = podOf("other", SLEEP, "Always");
    for (const [name, text] of [
      ["own", manifest],
      ["other", other],
    ] as const)
      await world.host.files.writeAtomic(`${MANIFESTS}/${name}.json`, JSON.stringify(text), 0o644);
    await world.advance(600_000);
    const tries = api.objects.refusedCreations;
    assert.ok(tries >= 8 && tries <= 20, `${tries} tries in 10 minutes`);
    assert.equal(conditionOf(pod("other-sim"), "Ready"), "True", "others are not held up");
    api.objects.terminating.delete("going");
    await world.advance(75_000);
    const place = { ...PODS, namespace: "going", name: "own-sim" };
    assert.ok(api.objects.find(place), "made once the namespace takes it");
  }));

test("the node declares what an API server asks of it for streams, resizes and restart rules", () =>
  inCluster(async ({ world, node }) => {
    await world.advance(15_000);
    assert.deepEqual(node()?.status?.declaredFeatures, [
      "ExtendWebSocketsToKubelet",
      "InPlacePodLevelResourcesVerticalScaling",
      "InPlacePodVerticalScalingInitContainers",
      "RestartAllContainersOnContainerExits",
    ]);
  }));

test("labels that describe the machine are put right while the node runs", () =>
  inCluster(async ({ world, api, node }) => {
    await world.advance(15_000);
    const own = ["kubernetes.io/os", "kubernetes.io/arch", "kubernetes.io/hostname"];
    const labels = () => own.map((label) => node()?.metadata?.labels?.[label]);
    const right = labels();
    assert.equal(right[0], "linux");
    const place = { collection: "nodes", namespace: undefined, name: "sim" };
    const found = api.objects.get(place);
    const { "kubernetes.io/arch": _, ...rest } = found.metadata.labels ?? {};
    const changed = { ...rest, "kubernetes.io/os": "plan9", mine: "stays" };
    api.objects.update(place, false, {
      ...found,
      metadata: { ...found.metadata, labels: changed },
    });
    assert.equal(labels()[1], undefined);
    await world.advance(25_000);
    assert.deepEqual(labels(), right);
    assert.equal(node()?.metadata?.labels?.["mine"], "stays");
  }));
