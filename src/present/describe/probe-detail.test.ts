import assert from "node:assert/strict";
import { test } from "node:test";
import type { ProbeReport } from "../shapes.ts";
import { plainPaint } from "../text.ts";
import { describeProbes } from "./probe-detail.ts";

const report: ProbeReport = {
  podUid: "u",
  namespace: "default",
  podName: "web",
  container: "app",
  kind: "readiness",
  handler: "tcpSocket",
  containerId: undefined,
  verdict: undefined,
  run: undefined,
  doing: undefined,
  periodMs: 200,
  timeoutMs: 1500,
  nextInMs: undefined,
  counts: { successful: 0, failed: 0, unknown: 0 },
  busyMs: 0,
  killed: 0,
  history: [],
};

const lineOf = (label: string, more: Partial<ProbeReport>) =>
  describeProbes([{ ...report, ...more }], 0, plainPaint).find((line) =>
    line.startsWith(`  ${label}:`),
  );

test("describeProbes says what each probe does now", () => {
  const vectors: readonly (readonly [
    label: string,
    given: Partial<ProbeReport>,
    reported: RegExp,
  ])[] = [
    ["Handler", {}, /tcpSocket, period 200 ms, timeout 1.5 s$/],
    ["Result", {}, /none yet$/],
    [
      "Result",
      { verdict: "success", run: { result: "failure", length: 1 } },
      /success; last attempt: failure$/,
    ],
    ["Now", {}, /<none>$/],
    ["Now", { doing: { kind: "probing" } }, /running$/],
    ["Now", { doing: { kind: "probe" }, nextInMs: 100 }, /next attempt in 0.1 s$/],
    ["Now", { doing: { kind: "wait", why: "no container" } }, /waiting: no container$/],
    ["Now", { doing: { kind: "exit", why: "pod has ended" } }, /finished: pod has ended$/],
    ["Duration", {}, /<none>$/],
    [
      "Duration",
      { busyMs: 20, counts: { successful: 8, failed: 1, unknown: 1 } },
      /2\.0 ms on average, 10\.0 ms per second$/,
    ],
  ];
  for (const [label, given, reported] of vectors)
    assert.match(lineOf(label, given) ?? "", reported);
  assert.equal(lineOf("Killed", {}), undefined);
});
