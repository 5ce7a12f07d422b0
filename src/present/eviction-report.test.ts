import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_CONFIG } from "../config/fields/defaults.ts";
import type { MonotonicMs, WallMs } from "../kit/clock.ts";
import { NOTHING_MET, planEviction } from "../subsystems/eviction/plan.ts";
import { candidateOf, type TestPod } from "../subsystems/eviction/pods.vectors.ts";
import { reportEviction } from "../subsystems/eviction/report.ts";
import { evictionThresholds } from "../subsystems/eviction/thresholds.ts";
import { describeSignals, renderEviction } from "./eviction-report.ts";
import { plainPaint } from "./text.ts";

const MI = 2 ** 20;
const PODS: readonly TestPod[] = [
  { name: "web", requestMi: 64, memoryMi: 60, priority: 100 },
  { name: "hog", requestMi: 64, memoryMi: 400 },
  { name: "etcd", memoryMi: 80, isStatic: true },
  { name: "new", unmeasured: true, ending: "deleted" },
];

function shown(leftMi: number, pods: readonly TestPod[] = PODS): readonly string[] {
  const atMs = 0 as WallMs;
  const plan = planEviction({
    rules: {
      thresholds: evictionThresholds({
        ...DEFAULT_CONFIG,
        evictionHard: { "memory.available": "100Mi", "pid.available": "10%" },
      }),
      layout: "single",
      transitionMs: 1_000,
      maxPodGraceSeconds: 0,
      localLimits: true,
    },
    observations: new Map([
      ["memory.available", { available: leftMi * MI, capacity: 1024 * MI, atMs }],
    ] as const),
    pods: pods.map(candidateOf),
    state: NOTHING_MET,
    now: 0 as MonotonicMs,
  });
  return renderEviction(reportEviction(plan, "single"), plainPaint).map((line) => line.trimEnd());
}

test("renderEviction: signals beside their thresholds, and the pods in their order with the reasons", () => {
  assert.deepEqual(shown(44), [
    "SIGNAL                        AVAILABLE   CAPACITY   THRESHOLD   KIND   STATE",
    "memory.available                   44Mi        1Gi       100Mi   hard   met",
    "pid.available                         -          -           -   hard   not measured",
    "allocatableMemory.available           -          -           -   hard   not measured",
    "",
    "memory is short (memory.available): there is nothing of the node itself to reclaim.",
    "Pods would be evicted in this order:",
    "  The node was low on resource: memory. Threshold quantity: 100Mi, available: 44Mi.",
    "",
    "POD             USES   REQUESTS   PRIORITY   FATE    WHY",
    "default/new        -          0          0   goes    is being ended",
    "default/hog    400Mi       64Mi          0   -       beyond its request",
    "default/etcd    80Mi          0          0   stays   critical",
    "default/web     60Mi       64Mi        100   -       within its request",
  ]);
});

test("renderEviction: nothing is short", () => {
  assert.equal(shown(500).at(-1), "No pod would be evicted.");
});

test("describeSignals: when a threshold will be met at the present rate", () => {
  const [signal] = [
    { signal: "memory.available", kind: "hard", state: "unmet", metInMs: 200_000 },
  ] as const;
  assert.deepEqual(
    describeSignals(
      {
        kind: "signals",
        signals: [{ ...signal, threshold: "100Mi", available: "500Mi", capacity: "1Gi" }],
      },
      plainPaint,
    ),
    [
      "Signal             Available   Capacity   Threshold   Kind   State",
      "memory.available       500Mi        1Gi       100Mi   hard   not met; at the present rate in 3m20s",
    ],
  );
});

test("renderEviction: pods that exceed limits of their own", () => {
  const volumes = [{ name: "v", emptyDir: { sizeLimit: "5Mi" } }];
  assert.equal(
    shown(44, [{ name: "web", volumeMi: 40, spec: { volumes } }]).at(-1),
    'default/web would be evicted: Usage of EmptyDir volume "v" exceeds the limit "5Mi".',
  );
});
