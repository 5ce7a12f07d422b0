import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { aContainer, anAttempt, aPod, aRecord, at } from "../../../test/support/pods.ts";
import type { PodUid } from "../../api/observation.ts";
import { MetricsRegistry } from "../../kit/metrics.ts";
import type { PodRecord } from "../../pipeline/pods/record/record.ts";
import { measureStarts } from "./pod-starts.ts";
import { isStateless } from "./start-times.ts";

const ABSENT = { directories: "absent", cgroup: "absent", volumes: "absent" } as const;
const PRESENT = { directories: "present", cgroup: "present", volumes: "present" } as const;

class Starts {
  readonly clock = new SimClock();
  readonly metrics = new MetricsRegistry();
  readonly #listeners: ((record: PodRecord) => void)[] = [];
  readonly pod;

  constructor(annotations: Readonly<Record<string, string>> = {}) {
    const plain = aPod({
      initContainers: [aContainer("init")],
      containers: [aContainer("a"), aContainer("b")],
    });
    const creationTimestamp = new Date(this.clock.wall() - 2_000).toISOString();
    this.pod = { ...plain, metadata: { ...plain.metadata, annotations, creationTimestamp } };
    const subscribe = (listener: (record: PodRecord) => void) => {
      this.#listeners.push(listener);
      return () => {};
    };
    measureStarts(this.metrics, { clock: this.clock, pods: { subscribe } });
  }

  record(more: Partial<PodRecord>): PodRecord {
    const startedAt = this.clock.wall();
    return aRecord({ pod: this.pod }, { startedAt, prerequisites: PRESENT, ...more });
  }

  notify(record: PodRecord): void {
    for (const listener of this.#listeners) listener(record);
  }

  sum(name: string): string | undefined {
    return new RegExp(`^kubelet_pod_start_${name}_seconds_sum (.+)$`, "m").exec(
      this.metrics.expose(),
    )?.[1];
  }
}

const observed = (...containers: readonly ReturnType<typeof anAttempt>[]) => ({
  asOf: at(0),
  sandboxes: [],
  containers,
});

test("a pod that is admitted at once is measured from its first turn on, one that was started before is not", async () => {
  for (const [prerequisites, isMeasured] of [
    [ABSENT, true],
    [PRESENT, false],
  ] as const) {
    const starts = new Starts();
    const first = starts.record({ prerequisites });
    starts.notify(first);
    await starts.clock.advance(1_000);
    const containers = observed(anAttempt("a"), anAttempt("b"));
    starts.notify({ ...first, prerequisites: PRESENT, observed: containers });
    assert.equal(starts.sum("duration"), isMeasured ? "1" : "0");
  }
});

test("a start is measured once all containers run; the objective leaves pulls and init containers out", async () => {
  const starts = new Starts();
  const first = starts.record({ life: { kind: "waiting" }, prerequisites: ABSENT });
  starts.notify(first);
  const running = { ...first, life: { kind: "running" }, prerequisites: PRESENT } as const;
  await starts.clock.advance(1_000);
  starts.notify({
    ...running,
    lastPlan: { ...first.lastPlan, progress: { init: 'Pulling image "img:1"' } },
  });
  await starts.clock.advance(4_000);
  starts.notify(running);
  const beganMs = starts.clock.wall();
  await starts.clock.advance(3_000);
  const init = anAttempt("init", {
    state: "exited",
    startedAtMs: beganMs,
    finishedAtMs: starts.clock.wall(),
  });
  starts.notify({ ...running, observed: observed(init, anAttempt("a", { startedAtMs: beganMs })) });
  assert.equal(starts.sum("duration"), "0", "one container does not run yet");
  await starts.clock.advance(500);
  const all = observed(
    init,
    anAttempt("a", { startedAtMs: beganMs }),
    anAttempt("b", { startedAtMs: starts.clock.wall() }),
  );
  starts.notify({ ...running, observed: all });
  starts.notify({ ...running, observed: all });
  assert.equal(starts.sum("duration"), "8.5");
  assert.equal(starts.sum("total_duration"), "10.5", "two seconds passed before it was seen");
  assert.equal(starts.sum("sli_duration"), "3.5", "without four of pulling and three of init");
});

test("the first pod with a network of its own is shown, and no later one", async () => {
  const starts = new Starts();
  const shown = () =>
    /^kubelet_first_network_pod_start_sli_duration_seconds (.+)$/m.exec(
      starts.metrics.expose(),
    )?.[1];
  assert.equal(shown(), "0");
  const all = observed(anAttempt("a"), anAttempt("b"));
  for (const [uid, hostNetwork, expected] of [
    ["host", true, "0"],
    ["first", false, "4"],
    ["second", false, "4"],
  ] as const) {
    const pod = { ...starts.pod, spec: { ...starts.pod.spec, hostNetwork } } as typeof starts.pod;
    const seen = starts.record({ uid: uid as PodUid, pod, prerequisites: ABSENT });
    starts.notify(seen);
    await starts.clock.advance(1_000);
    starts.notify({ ...seen, prerequisites: PRESENT, observed: all });
    assert.equal(shown(), expected, uid);
  }
});

test("what ran before the agent, ends before it runs, or is static is not in all of them", async () => {
  const known = new Starts();
  const all = observed(anAttempt("a"), anAttempt("b"));
  known.notify(known.record({ observed: all }));
  assert.equal(known.sum("duration"), "0", "it was never seen without folders");
  const ended = new Starts();
  ended.notify(ended.record({ life: { kind: "waiting" }, prerequisites: ABSENT }));
  ended.notify(ended.record({ life: { kind: "terminated", cause: { kind: "deleted" } } }));
  ended.notify(ended.record({ observed: all }));
  assert.equal(ended.sum("duration"), "0");
  const fixed = new Starts({ "kubernetes.io/config.source": "file" });
  const first = fixed.record({ life: { kind: "waiting" }, prerequisites: ABSENT });
  fixed.notify(first);
  await fixed.clock.advance(1_000);
  fixed.notify({ ...first, life: { kind: "running" }, prerequisites: PRESENT, observed: all });
  assert.equal(fixed.sum("duration"), "1");
  assert.equal(fixed.sum("total_duration"), "0");
});

for (const [volume, stateless] of [
  [{ name: "v", emptyDir: {} }, true],
  [{ name: "v", configMap: { name: "c" } }, true],
  [{ name: "v", hostPath: { path: "/" } }, false],
  [{ name: "v", image: { reference: "i" } }, false],
  [{ name: "v", persistentVolumeClaim: { claimName: "c" } }, false],
] as const)
  test(`isStateless: ${Object.keys(volume)[1]}`, () =>
    assert.equal(isStateless(aPod({ volumes: [volume] })), stateless));
