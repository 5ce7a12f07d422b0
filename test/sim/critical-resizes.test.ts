// Resizes of critical pods on a full node: who has to go for them, and by whose decision.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, PodSpec } from "../../src/api/generated/types.ts";
import { type ClusterWorld, inCluster, podOf } from "./cluster-world.ts";
import type { StoredObject } from "./fake-api-objects.ts";

const PODS = { collection: "pods", namespace: "default" };
const SCHEDULER_DECIDES = { InPlacePodVerticalScalingSchedulerPreemption: true };

const specOf = (spec: PodSpec, cpu: string, priority: number): PodSpec => ({
  ...spec,
  priority,
  containers: spec.containers.map((each) => ({ ...each, resources: { requests: { cpu } } })),
});

/** Two pods that fill the node but for half a CPU, of which one then asks for a whole one more. */
async function grow({ world, api, pod }: ClusterWorld, priority: number): Promise<void> {
  const made = { low: ["1500m", 0], high: ["1", priority] } as const;
  for (const [name, [cpu, own]] of Object.entries(made)) {
    const template = podOf(name, { kind: "sleep" }, "Always") as unknown as Pod;
    api.objects.create(PODS, {
      ...template,
      spec: specOf(template.spec ?? { containers: [] }, cpu, own),
    });
  }
  await world.advance(20_000);
  for (const name of Object.keys(made)) assert.equal(pod(name)?.status?.phase, "Running", name);
  const place = { ...PODS, name: "high" };
  const found = api.objects.find(place) as unknown as Pod;
  const grown = {
    ...found,
    metadata: { ...found.metadata, generation: 2 },
    spec: specOf(found.spec ?? { containers: [] }, "2", priority),
  };
  api.objects.update(place, false, grown as unknown as StoredObject);
  await world.advance(60_000);
}

/** What the pod has, why its resize waits, and what became of the other one. */
function outcome({ pod }: ClusterWorld): readonly unknown[] {
  const { containerStatuses, conditions = [] } = pod("high")?.status ?? {};
  const { phase, reason } = pod("low")?.status ?? {};
  return [
    containerStatuses?.[0]?.resources?.requests?.["cpu"],
    conditions.find(({ type }) => type === "PodResizePending")?.reason,
    phase,
    reason,
  ];
}

test("a critical pod that grows displaces others, as a new one does", () =>
  inCluster(async (cluster) => {
    await grow(cluster, 2_000_000_000);
    assert.deepEqual(outcome(cluster), ["2", undefined, "Failed", "Preempting"]);
    assert.equal(cluster.pod("high")?.status?.containerStatuses?.[0]?.restartCount, 0);
  }));

test("the resize of any other pod waits", () =>
  inCluster(async (cluster) => {
    await grow(cluster, 1_999_999_999);
    assert.deepEqual(outcome(cluster), ["1", "Deferred", "Running", undefined]);
  }));

test("with the gate of the scheduler no pod is displaced by the node", () =>
  inCluster(async (cluster) => {
    await grow(cluster, 2_000_000_000);
    assert.deepEqual(outcome(cluster), ["1", "Deferred", "Running", undefined]);
  }, SCHEDULER_DECIDES));
