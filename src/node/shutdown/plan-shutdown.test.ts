import assert from "node:assert/strict";
import { test } from "node:test";
import { identifyPod } from "../../api/pod-identity.ts";
import { resolveGates } from "../../config/gates/feature-gates.ts";
import {
  planShutdown,
  type ShutdownPeriod,
  shutdownPeriods,
  totalSeconds,
} from "./plan-shutdown.ts";

const CRITICAL = 2_000_000_000;
const OFF = {
  shutdownGracePeriod: 0,
  shutdownGracePeriodCriticalPods: 0,
  shutdownGracePeriodByPodPriority: [],
};
type Config = Parameters<typeof shutdownPeriods>[0];
const config = (fields: Record<string, unknown>) => ({ ...OFF, ...fields }) as unknown as Config;
const of = (priority: number, shutdownGracePeriodSeconds: number) => ({
  priority,
  shutdownGracePeriodSeconds,
});
const NONE = { GracefulNodeShutdownBasedOnPodPriority: false };

for (const [what, fields, gates, expected] of [
  ["nothing configured", {}, {}, []],
  [
    "total and critical",
    { shutdownGracePeriod: 30_000, shutdownGracePeriodCriticalPods: 10_000 },
    {},
    [
      [0, 20],
      [CRITICAL, 10],
    ],
  ],
  [
    "total only",
    { shutdownGracePeriod: 30_000 },
    {},
    [
      [0, 30],
      [CRITICAL, 0],
    ],
  ],
  [
    "all time for critical pods",
    { shutdownGracePeriod: 5_000, shutdownGracePeriodCriticalPods: 5_000 },
    {},
    [
      [0, 0],
      [CRITICAL, 5],
    ],
  ],
  [
    "parts of seconds are cut off",
    { shutdownGracePeriod: 2_900 },
    {},
    [
      [0, 2],
      [CRITICAL, 0],
    ],
  ],
  [
    "by priority, in order",
    { shutdownGracePeriodByPodPriority: [of(1000, 10), of(-5, 3), of(0, 60)] },
    {},
    [
      [-5, 3],
      [0, 60],
      [1000, 10],
    ],
  ],
  [
    "no time is not less than none",
    { shutdownGracePeriodByPodPriority: [of(0, -5), of(1000, 10)] },
    {},
    [
      [0, 0],
      [1000, 10],
    ],
  ],
  [
    "by priority without its gate",
    { shutdownGracePeriod: 4_000, shutdownGracePeriodByPodPriority: [of(0, 60)] },
    NONE,
    [
      [0, 4],
      [CRITICAL, 0],
    ],
  ],
  [
    "without the gate",
    { shutdownGracePeriod: 30_000, shutdownGracePeriodByPodPriority: [of(0, 60)] },
    { GracefulNodeShutdown: false, ...NONE },
    [],
  ],
] as const)
  test(`shutdownPeriods: ${what}`, () => {
    const periods = shutdownPeriods(config(fields), resolveGates(gates).gates);
    assert.deepEqual(
      periods.map(({ priority, seconds }) => [priority, seconds]),
      expected,
    );
    const sum = expected.reduce((total: number, [, seconds]) => total + seconds, 0);
    assert.equal(totalSeconds(periods), sum);
  });

const PERIODS: readonly ShutdownPeriod[] = [
  { priority: 0, seconds: 20 },
  { priority: 1000, seconds: 5 },
  { priority: CRITICAL, seconds: 0 },
];

function pod(name: string, priority: number | undefined, graceSeconds?: number) {
  return identifyPod({
    metadata: { name, namespace: "default", uid: `uid-${name}` },
    spec: {
      containers: [],
      ...(priority === undefined ? {} : { priority }),
      ...(graceSeconds === undefined ? {} : { terminationGracePeriodSeconds: graceSeconds }),
    },
  });
}

/** Priority and grace of the pod; the index of its group and the grace that it gets. */
for (const [what, priority, graceSeconds, group, expected] of [
  ["no priority, no grace: 30 s by default, of 20 two are kept", undefined, undefined, 0, 18],
  ["a priority below all periods", -100, 1000, 0, 18],
  ["between two periods", 999, 30, 0, 18],
  ["at the border", 1000, 30, 1, 4],
  ["above a border", 1001, 30, 1, 4],
  ["its own grace is shorter", 1001, 2, 1, 2],
  ["its own grace is zero", 0, 0, 0, 0],
  ["its own grace fits just so", 0, 18, 0, 18],
  ["a period without time", CRITICAL + 1000, 30, 2, 0],
] as const)
  test(`planShutdown: ${what}`, () => {
    const groups = planShutdown(PERIODS, [pod("web", priority, graceSeconds)]);
    assert.deepEqual(
      groups.map(({ pods }) => pods.length),
      [0, 1, 2].map((index) => (index === group ? 1 : 0)),
    );
    assert.deepEqual(groups[group]?.pods, [
      { uid: "uid-web", name: "default/web", priority: priority ?? 0, graceSeconds: expected },
    ]);
  });

test("planShutdown: without periods nothing is ended", () =>
  assert.deepEqual(planShutdown([], [pod("web", 0)]), []));

for (const [seconds, expected] of [
  [0, 0],
  [1, 1],
  [2, 1],
  [9, 8],
  [10, 9],
  [11, 9],
  [19, 17],
  [20, 18],
  [41, 36],
  [600, 595],
] as const)
  test(`planShutdown: of ${seconds} s a pod that requests more gets ${expected}`, () => {
    const [group] = planShutdown([{ priority: 0, seconds }], [pod("web", 0, 3600)]);
    assert.equal(group?.pods[0]?.graceSeconds, expected);
  });
