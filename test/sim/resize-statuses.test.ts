// What the API gets of changes of resources in place, on virtual time.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, PodSpec } from "../../src/api/generated/types.ts";
import { type ClusterWorld, inCluster, podOf } from "./cluster-world.ts";
import type { StoredObject } from "./fake-api-objects.ts";
import type { Program } from "./programs.ts";

const SLEEP: Program = { kind: "sleep" };
const PODS = { collection: "pods", namespace: "default" };

/** Changes the spec as a resize does. */
function resize({ api }: ClusterWorld, name: string, change: (spec: PodSpec) => PodSpec): void {
  const place = { ...PODS, name };
  const found = api.objects.find(place) as unknown as Pod;
  const metadata = { ...found.metadata, generation: (found.metadata?.generation ?? 1) + 1 };
  const spec = change(found.spec as PodSpec);
  api.objects.update(place, false, { ...found, metadata, spec } as unknown as StoredObject);
}

/** Every status of the pod that the API has had since, oldest first. */
function written({ api }: ClusterWorld, name: string): readonly Pod[] {
  const seen: Pod[] = [];
  const notify = api.objects.onChange;
  api.objects.onChange = (entry) => {
    if (entry.collection === "pods" && entry.now?.metadata.name === name)
      seen.push(entry.now as unknown as Pod);
    notify(entry);
  };
  return seen;
}

const withCpu = (cpu: string) => (spec: PodSpec) => ({
  ...spec,
  containers: spec.containers.map((each) => ({ ...each, resources: { requests: { cpu } } })),
});

test("a status that has seen the new spec says what becomes of it, or has it", () =>
  inCluster(async (cluster) => {
    const { world, api, pod } = cluster;
    const template = podOf("web", SLEEP, "Always") as unknown as Pod;
    api.objects.create(PODS, { ...template, spec: withCpu("100m")(template.spec as PodSpec) });
    await world.advance(15_000);
    const statuses = written(cluster, "web");
    for (const cpu of ["200m", "1000", "300m"]) {
      resize(cluster, "web", withCpu(cpu));
      await world.advance(15_000);
    }
    assert.equal(pod("web")?.status?.observedGeneration, 4);
    for (const { metadata, spec, status } of statuses) {
      const { observedGeneration, conditions = [], containerStatuses } = status ?? {};
      if (observedGeneration !== metadata?.generation) continue;
      const wanted = spec?.containers[0]?.resources?.requests?.["cpu"];
      const has = containerStatuses?.[0]?.resources?.requests?.["cpu"];
      const isReported = conditions.some(({ type }) => type.startsWith("PodResize"));
      assert.ok(
        isReported || has === wanted,
        `${observedGeneration}: ${wanted} ${JSON.stringify(status)}`,
      );
    }
    const generations = statuses.map(({ status }) => status?.observedGeneration);
    assert.ok(generations.includes(3), "what cannot be had was seen as well");
  }));

test("resources of the pod that are added show what was given", () =>
  inCluster(async (cluster) => {
    const { world, pod, create } = cluster;
    create("web", SLEEP);
    await world.advance(15_000);
    assert.equal(pod("web")?.status?.allocatedResources, undefined);
    const resources = { requests: { cpu: "100m" }, limits: { cpu: "200m", memory: "64Mi" } };
    resize(cluster, "web", (spec) => ({ ...spec, resources }));
    await world.advance(30_000);
    assert.deepEqual(pod("web")?.status?.resources, resources);
    assert.deepEqual(pod("web")?.status?.allocatedResources, resources.requests);
  }));

test("an init container that runs gets other resources as well", () =>
  inCluster(async (cluster) => {
    const { world, api, pod } = cluster;
    const template = podOf("web", SLEEP, "Always") as unknown as Pod;
    const [main] = template.spec?.containers ?? [];
    const specOf = (cpu: string, spec: PodSpec): PodSpec => {
      const prep = { image: "", ...main, name: "prep", resources: { requests: { cpu } } };
      return { ...spec, initContainers: [prep] };
    };
    api.objects.create(PODS, { ...template, spec: specOf("100m", template.spec as PodSpec) });
    await world.advance(15_000);
    const before = pod("web")?.status?.initContainerStatuses?.[0];
    assert.ok(before?.state?.running);
    resize(cluster, "web", (spec) => specOf("250m", spec));
    await world.advance(15_000);
    const after = pod("web")?.status?.initContainerStatuses?.[0];
    assert.equal(after?.containerID, before.containerID);
    assert.deepEqual(after?.resources?.requests, { cpu: "250m" });
    assert.deepEqual(after?.allocatedResources, { cpu: "250m" });
    const updates = world.runtime.actions.filter(({ op }) => op === "updateContainer");
    assert.ok(updates.length > 0, "the runtime got the change");
    assert.deepEqual(
      pod("web")?.status?.conditions?.filter(({ type }) => type.startsWith("PodResize")),
      [],
    );
  }));

for (const sandboxResources of ["unknown", "stub", "taken"] as const)
  test(`a resize completes where UpdatePodSandboxResources is ${sandboxResources}`, () =>
    inCluster(async (cluster) => {
      const { world, api, pod } = cluster;
      world.runtime.options.sandboxResources = sandboxResources;
      const template = podOf("web", SLEEP, "Always") as unknown as Pod;
      api.objects.create(PODS, { ...template, spec: withCpu("100m")(template.spec as PodSpec) });
      await world.advance(15_000);
      resize(cluster, "web", withCpu("200m"));
      await world.advance(15_000);
      const { conditions = [], containerStatuses } = pod("web")?.status ?? {};
      assert.deepEqual(
        conditions.filter(({ type }) => type.startsWith("PodResize")),
        [],
      );
      assert.deepEqual(containerStatuses?.[0]?.resources?.requests, { cpu: "200m" });
      assert.equal(containerStatuses?.[0]?.restartCount, 0);
    }));

interface ResizeEvent {
  readonly involvedObject: { readonly name: string };
  readonly reason: string;
  readonly count?: number;
}

/** Reasons of events of resizes of the pod, with how often each came. */
const eventsOf = ({ api }: ClusterWorld, name: string) =>
  api.objects.list("events").flatMap((each) => {
    const { involvedObject, reason, count = 1 } = each as unknown as ResizeEvent;
    return involvedObject.name === name && reason.startsWith("Resize")
      ? [`${reason} ${count}`]
      : [];
  });

test("a limit of the pod restarts a container by its policy, once", () =>
  inCluster(async (cluster) => {
    const { world, api, pod } = cluster;
    const template = podOf("web", SLEEP, "Always") as unknown as Pod;
    const specOf = (memory: string, spec: PodSpec): PodSpec => ({
      ...spec,
      resources: { limits: { memory } },
      containers: spec.containers.map((each) => ({
        ...each,
        resizePolicy: [{ resourceName: "memory", restartPolicy: "RestartContainer" }],
      })),
    });
    api.objects.create(PODS, { ...template, spec: specOf("64Mi", template.spec as PodSpec) });
    await world.advance(15_000);
    resize(cluster, "web", (spec) => specOf("128Mi", spec));
    await world.advance(60_000);
    world.killAgent();
    world.startAgent();
    await world.advance(60_000);
    const { containerStatuses, resources, conditions = [] } = pod("web")?.status ?? {};
    assert.equal(containerStatuses?.[0]?.restartCount, 1);
    assert.deepEqual(containerStatuses?.[0]?.resources, {});
    assert.deepEqual(resources?.limits, { memory: "128Mi" });
    assert.ok(!conditions.some(({ type }) => type.startsWith("PodResize")));
    const limits = [...world.runtime.containers.values()].flatMap(({ state, config }) =>
      state === "running" ? [config.linux?.resources?.memoryLimitInBytes] : [],
    );
    assert.deepEqual(limits, [128n * 1024n * 1024n]);
  }));

test("a request of 0 that was not there is no resize", () =>
  inCluster(async (cluster) => {
    const { world, create, pod } = cluster;
    create("web", SLEEP);
    await world.advance(15_000);
    resize(cluster, "web", withCpu("0"));
    await world.advance(30_000);
    assert.deepEqual(eventsOf(cluster, "web"), []);
    assert.equal(pod("web")?.status?.observedGeneration, 2);
  }));

test("an error of a resize outlives a restart of the agent, until the resize succeeds", () =>
  inCluster(async (cluster) => {
    const { world, api, pod } = cluster;
    const template = podOf("web", SLEEP, "Always") as unknown as Pod;
    const withMemory = (memory: string) => (spec: PodSpec) => ({
      ...spec,
      containers: spec.containers.map((each) => ({ ...each, resources: { limits: { memory } } })),
    });
    api.objects.create(PODS, { ...template, spec: withMemory("1Gi")(template.spec as PodSpec) });
    await world.advance(15_000);
    const { cgroups } = world.host;
    const group = cgroups.paths.find((path) => /\/pod[^/]+$/.test(path)) ?? "";
    const file = cgroups.version === 1 ? "memory.usage_in_bytes" : "memory.current";
    cgroups.set(group, file, String(2 ** 29));
    resize(cluster, "web", withMemory("64Mi"));
    await world.advance(20_000);
    const progress = (from: Pod | undefined) =>
      from?.status?.conditions?.find(({ type }) => type === "PodResizeInProgress");
    assert.equal(progress(pod("web"))?.reason, "Error");
    const { lastTransitionTime } = progress(pod("web")) ?? {};
    const events = eventsOf(cluster, "web");
    const statuses = written(cluster, "web");
    world.killAgent();
    world.startAgent();
    await world.advance(30_000);
    for (const each of [...statuses, pod("web")]) {
      assert.equal(progress(each)?.reason, "Error");
      assert.match(progress(each)?.message ?? "", /below current usage \(536870912\)/);
      assert.equal(progress(each)?.lastTransitionTime, lastTransitionTime);
    }
    assert.deepEqual(eventsOf(cluster, "web"), events, "it is not reported again");
    cgroups.set(group, file, "0");
    await world.advance(30_000);
    assert.equal(progress(pod("web")), undefined);
  }));
