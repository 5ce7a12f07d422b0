import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { EvictionSignal } from "../../api/node/eviction-signals.ts";
import type { MonotonicMs, WallMs } from "../../kit/clock.ts";
import type { SignalObservations } from "./observations.ts";
import {
  type EvictionPlan,
  type EvictionRules,
  type EvictionState,
  isRelieved,
  NOTHING_MET,
  planEviction,
} from "./plan.ts";
import { candidateOf, type TestPod } from "./pods.vectors.ts";
import { evictionThresholds, type ThresholdConfig, thresholdKey } from "./thresholds.ts";
import { usedFor } from "./usage.ts";

const MI = 2 ** 20;
const CAPACITY = 1000 * MI;

function rules(config: Partial<ThresholdConfig>, more: Partial<EvictionRules> = {}): EvictionRules {
  return {
    thresholds: evictionThresholds({
      evictionHard: {},
      evictionSoft: {},
      evictionSoftGracePeriod: {},
      evictionMinimumReclaim: {},
      mergeDefaultEvictionSettings: false,
      enforceNodeAllocatable: [],
      ...config,
    }),
    layout: "single",
    transitionMs: 300_000,
    maxPodGraceSeconds: 0,
    localLimits: true,
    ...more,
  };
}

const HARD = rules({ evictionHard: { "memory.available": "100Mi" } });

/** Amounts in MiB, of `CAPACITY` each. */
const observe = (atMs: number, left: Partial<Record<EvictionSignal, number>>): SignalObservations =>
  new Map(
    Object.entries(left).map(([signal, mi]) => [
      signal as EvictionSignal,
      { available: mi * MI, capacity: CAPACITY, atMs: atMs as WallMs },
    ]),
  );

interface Round {
  readonly seconds: number;
  readonly left: Partial<Record<EvictionSignal, number>>;
}

/** The plans of one round after the other. */
function play(of: EvictionRules, rounds: readonly Round[], pods: readonly TestPod[] = []) {
  let state: EvictionState = NOTHING_MET;
  return rounds.map(({ seconds, left }): EvictionPlan => {
    const plan = planEviction({
      rules: of,
      observations: observe(seconds * 1000, left),
      pods: pods.map(candidateOf),
      state,
      now: (seconds * 1000) as MonotonicMs,
    });
    state = plan.state;
    return plan;
  });
}

const memory = (seconds: number, mi: number): Round => ({
  seconds,
  left: { "memory.available": mi },
});
const HOG: TestPod = { name: "hog", memoryMi: 500 };
const signalOf = (plan: EvictionPlan | undefined) => plan?.pressure?.threshold.signal;

test("a hard threshold acts at once; the pod gets one second", () => {
  const [plan] = play(HARD, [memory(0, 99)], [HOG]);
  assert.equal(signalOf(plan), "memory.available");
  assert.equal(plan?.pressure?.victim?.ranked.name, "default/hog");
  assert.equal(plan?.pressure?.victim?.graceSeconds, 1);
  assert.deepEqual(plan?.pressure?.reclaim, []);
  assert.deepEqual(plan?.conditions, ["MemoryPressure"]);
});

test("a soft threshold acts after its grace period without a pause, the condition shows at once", () => {
  const soft = rules({
    evictionSoft: { "memory.available": "100Mi" },
    evictionSoftGracePeriod: { "memory.available": "30s" },
  });
  const plans = play(
    soft,
    [
      memory(0, 50),
      memory(10, 50),
      memory(20, 150),
      memory(30, 50),
      memory(59, 50),
      memory(60, 50),
    ],
    [HOG],
  );
  assert.deepEqual(
    plans.map((plan) => plan.pressure !== undefined),
    [false, false, false, false, false, true],
  );
  assert.ok(plans.every(({ conditions }) => conditions[0] === "MemoryPressure"));
  assert.equal(plans[1]?.views[0]?.graceLeftMs, 20_000);
});

for (const [maxPodGraceSeconds, own, expected] of [
  [0, 30, 1],
  [10, 30, 10],
  [60, 30, 30],
  [-1, 30, 30],
  [-1, 0, 1],
] as const)
  test(`soft: at most ${maxPodGraceSeconds} s, the pod says ${own} s: it gets ${expected} s`, () => {
    const soft = rules(
      {
        evictionSoft: { "memory.available": "100Mi" },
        evictionSoftGracePeriod: { "memory.available": "1s" },
      },
      { maxPodGraceSeconds },
    );
    const pod = { ...HOG, spec: { terminationGracePeriodSeconds: own } };
    const plan = play(soft, [memory(0, 50), memory(1, 50)], [pod]).at(-1);
    assert.equal(plan?.pressure?.victim?.graceSeconds, expected);
  });

test("a condition stays for the transition period after it was last observed", () => {
  const plans = play(HARD, [memory(0, 50), memory(10, 500), memory(299, 500), memory(300, 500)]);
  assert.deepEqual(
    plans.map(({ conditions }) => conditions.length),
    [1, 1, 1, 0],
  );
});

test("with a minimum to reclaim a threshold that acted stays open until that is there, too", () => {
  const reclaim = rules({
    evictionHard: { "memory.available": "100Mi" },
    evictionMinimumReclaim: { "memory.available": "50Mi" },
  });
  const plans = play(
    reclaim,
    [memory(0, 120), memory(10, 90), memory(20, 120), memory(30, 150), memory(40, 120)],
    [HOG],
  );
  assert.deepEqual(
    plans.map((plan) => plan.views[0]?.state),
    ["unmet", "met", "unresolved", "unmet", "unmet"],
  );
  assert.deepEqual(
    plans.map((plan) => plan.pressure !== undefined),
    [false, true, true, false, false],
  );
});

test("nothing is done twice on the same figures", () => {
  const observations = observe(0, { "memory.available": 50 });
  const inputs = { rules: HARD, observations, pods: [HOG].map(candidateOf) };
  const first = planEviction({ ...inputs, state: NOTHING_MET, now: 0 as MonotonicMs });
  const second = planEviction({ ...inputs, state: first.state, now: 10_000 as MonotonicMs });
  assert.equal(signalOf(first), "memory.available");
  assert.equal(second.pressure, undefined);
  assert.deepEqual(second.conditions, ["MemoryPressure"]);
});

test("memory is taken back before disks and processes", () => {
  const all = rules({
    evictionHard: {
      "nodefs.available": "10%",
      "pid.available": "100Mi",
      "memory.available": "100Mi",
    },
  });
  const left = { "nodefs.available": 1, "pid.available": 1, "memory.available": 1 };
  const [plan] = play(all, [{ seconds: 0, left }]);
  assert.equal(signalOf(plan), "memory.available");
  assert.deepEqual(plan?.conditions, ["MemoryPressure", "DiskPressure", "PIDPressure"]);
  const [without] = play(all, [{ seconds: 0, left: { ...left, "memory.available": 500 } }]);
  assert.equal(signalOf(without), "nodefs.available");
});

for (const [layout, signal, expected] of [
  ["single", "nodefs.available", ["containers", "images"]],
  ["single", "imagefs.inodesFree", ["containers", "images"]],
  ["single", "containerfs.available", ["containers", "images"]],
  ["dedicated", "nodefs.available", []],
  ["dedicated", "imagefs.available", ["containers", "images"]],
  ["dedicated", "containerfs.available", ["containers", "images"]],
  ["split", "nodefs.inodesFree", ["containers"]],
  ["split", "imagefs.available", ["images"]],
  ["split", "containerfs.available", ["containers"]],
] as const)
  test(`${signal}, disks ${layout}: what is reclaimed first`, () => {
    const of = rules(
      {
        evictionHard: {
          "nodefs.available": "10%",
          "imagefs.available": "10%",
          "nodefs.inodesFree": "10%",
          "imagefs.inodesFree": "10%",
        },
      },
      { layout },
    );
    const [plan] = play(of, [{ seconds: 0, left: { [signal]: 1 } }]);
    assert.deepEqual(plan?.pressure?.reclaim, expected);
  });

test("limits of pods go before the node's: while one exceeds its own nobody else is evicted", () => {
  const pods: readonly TestPod[] = [
    HOG,
    {
      name: "writer",
      rootfsMi: 50,
      spec: { containers: [{ name: "c", resources: { limits: { "ephemeral-storage": "20Mi" } } }] },
    },
  ];
  const [plan] = play(HARD, [memory(0, 50)], pods);
  assert.deepEqual(
    plan?.excesses.map(({ candidate }) => candidate.uid),
    ["uid-writer"],
  );
  assert.equal(plan?.pressure, undefined);
  const off = play({ ...HARD, localLimits: false }, [memory(0, 50)], pods)[0];
  assert.equal(off?.pressure?.victim?.ranked.name, "default/hog");
});

test("while an evicted pod ends nobody else goes; one that does not end is given up", () => {
  const victim = (ending: "evicted" | "overdue") =>
    play(HARD, [memory(0, 50)], [HOG, { name: "ending", memoryMi: 1, ending }])[0]?.pressure?.victim
      ?.ranked.name;
  assert.equal(victim("evicted"), "default/ending");
  assert.equal(victim("overdue"), "default/hog");
});

test("signals that could not be measured are reported to be unknown, and nothing follows from them", () => {
  const [plan] = play(HARD, [{ seconds: 0, left: {} }], [HOG]);
  assert.equal(plan?.views[0]?.state, "unknown");
  assert.equal(plan?.pressure, undefined);
  assert.deepEqual(plan?.conditions, []);
});

test("isRelieved: only when no threshold is met, each with its minimum to reclaim", () => {
  const of = rules({
    evictionHard: { "nodefs.available": "10%", "memory.available": "100Mi" },
    evictionMinimumReclaim: { "nodefs.available": "50Mi" },
  });
  const relieved = (nodefs: number, left: number) =>
    isRelieved(of, observe(0, { "nodefs.available": nodefs, "memory.available": left }));
  assert.deepEqual(
    [relieved(151, 100), relieved(149, 100), relieved(151, 99)],
    [true, false, false],
  );
});

const amount = fc.integer({ min: 0, max: 300 });
const anyPods = fc
  .array(
    fc.record({ memoryMi: amount, requestMi: amount, priority: fc.integer({ min: 0, max: 2 }) }),
    { maxLength: 8 },
  )
  .map((pods) => pods.map((pod, at): TestPod => ({ ...pod, name: `p${at}` })));

test("no pod is evicted when no threshold is met", () => {
  fc.assert(
    fc.property(anyPods, fc.integer({ min: 100, max: 1000 }), (pods, left) => {
      const [plan] = play(HARD, [memory(0, left)], pods);
      assert.equal(plan?.pressure, undefined);
      assert.deepEqual([plan?.conditions, plan?.excesses], [[], []]);
    }),
  );
});

test("evicting who is planned ends the pressure, one pod a round and no more than needed", () => {
  fc.assert(
    fc.property(anyPods, (pods) => {
      let running = pods;
      let state: EvictionState = NOTHING_MET;
      const usedMi = () => running.reduce((sum, pod) => sum + (pod.memoryMi ?? 0), 0);
      for (let round = 0; ; round += 1) {
        const left = 1000 - usedMi();
        const plan = planEviction({
          rules: HARD,
          observations: observe(round * 1000, { "memory.available": left }),
          pods: running.map(candidateOf),
          state,
          now: (round * 1000) as MonotonicMs,
        });
        state = plan.state;
        assert.equal(plan.pressure !== undefined, left < 100, `${left} MiB left`);
        if (!plan.pressure) break;
        const victim = plan.pressure.victim?.ranked;
        assert.ok(victim, "there are pods that use the memory");
        running = running.filter(({ name }) => victim.name !== `default/${name}`);
        assert.ok(round < pods.length);
      }
    }),
  );
});

test("a victim is never a pod within its request while another one exceeds its own", () => {
  fc.assert(
    fc.property(anyPods, (pods) => {
      const victim = play(HARD, [memory(0, 1)], pods)[0]?.pressure?.victim?.ranked;
      if (!victim) return assert.equal(pods.length, 0);
      const exceeds = (pod: TestPod) => (pod.memoryMi ?? 0) > (pod.requestMi ?? 0);
      const own = pods.find(({ name }) => victim.name === `default/${name}`);
      assert.ok(own);
      assert.ok(exceeds(own) || !pods.some(exceeds));
    }),
  );
});

test("usedFor and thresholdKey distinguish amounts of one signal from those of others", () => {
  const { usage } = candidateOf({ name: "p", memoryMi: 1, rootfsMi: 2, inodes: 3, tasks: 4 });
  assert.ok(usage);
  const used = (signal: EvictionSignal) => usedFor(signal, usage, "single");
  assert.deepEqual(
    [
      used("memory.available"),
      used("nodefs.available"),
      used("nodefs.inodesFree"),
      used("pid.available"),
    ],
    [MI, 2 * MI, 3, 4],
  );
  const keys = new Set(HARD.thresholds.map(thresholdKey));
  assert.deepEqual([...keys], ["memory.available<100Mi 0"]);
});
