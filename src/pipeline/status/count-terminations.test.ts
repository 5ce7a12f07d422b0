import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContainerStatus, PodStatus } from "../../api/generated/types.ts";
import { MetricsRegistry } from "../../kit/metrics.ts";
import { terminationCounter } from "./count-terminations.ts";

const ended = (containerID: string, exitCode: number, reason: string) => ({
  terminated: { containerID, exitCode, reason, finishedAt: "2026-01-01T00:00:00Z" },
});
const RUNNING = { running: { startedAt: "2026-01-01T00:00:00Z" } };
const WAITING = { waiting: { reason: "CrashLoopBackOff" } };
const FIRST = ended("c://1", 1, "Error");
const SECOND = ended("c://2", 0, "Completed");

type States = Pick<ContainerStatus, "state" | "lastState">;

const status = (of: States): ContainerStatus => ({
  name: "a",
  image: "",
  imageID: "",
  ready: false,
  restartCount: 0,
  ...of,
});

for (const [what, states, expected] of [
  ["one that runs", [{ state: RUNNING }], {}],
  [
    "an end, however often it is derived",
    [{ state: RUNNING }, { state: FIRST }, { state: FIRST }],
    { "1 Error": 1 },
  ],
  ["one that had ended before the first status", [{ state: FIRST }], { "1 Error": 1 }],
  [
    "a restart that had happened before the first status",
    [{ state: RUNNING, lastState: FIRST }],
    {},
  ],
  [
    "an end that moves to the last state while the next start waits",
    [
      { state: RUNNING },
      { state: FIRST },
      { state: WAITING, lastState: FIRST },
      { state: RUNNING, lastState: FIRST },
    ],
    { "1 Error": 1 },
  ],
  [
    "an end that is seen only once the successor runs",
    [{ state: RUNNING }, { state: RUNNING, lastState: FIRST }],
    { "1 Error": 1 },
  ],
  [
    "two ends",
    [{ state: RUNNING }, { state: FIRST }, { state: SECOND, lastState: FIRST }],
    { "1 Error": 1, "0 Completed": 1 },
  ],
] as const satisfies readonly (readonly [string, readonly States[], Record<string, number>])[])
  test(`terminationCounter: ${what}`, () => {
    for (const [type, list] of [
      ["container", "containerStatuses"],
      ["init_container", "initContainerStatuses"],
      ["ephemeral_container", "ephemeralContainerStatuses"],
    ] as const) {
      const metrics = new MetricsRegistry();
      const count = terminationCounter(metrics);
      let before: PodStatus | undefined;
      for (const of of states) {
        const now = { [list]: [status(of)] };
        count(before, now);
        before = now;
      }
      const lines = metrics.expose().match(/^kubelet_terminated_containers_total\{.*$/gm) ?? [];
      const wanted = Object.entries(expected).map(([end, value]) => {
        const [code, reason] = end.split(" ");
        return `kubelet_terminated_containers_total{container_type="${type}",exit_code="${code}",reason="${reason}"} ${value}`;
      });
      assert.deepEqual([...lines].sort(), wanted.sort());
    }
  });
