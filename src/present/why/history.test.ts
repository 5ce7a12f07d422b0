import assert from "node:assert/strict";
import { test } from "node:test";
import { aDecision as record } from "../../../test/cli/decisions.ts";
import { assertGolden } from "../../../test/cli/golden.ts";
import { anEvent } from "../../../test/cli/nodes.ts";
import { aPod, NOW } from "../../../test/cli/pods.ts";
import { plainPaint } from "../text.ts";
import { renderHistory } from "./history.ts";
import { storyOf } from "./why.ts";

test("`renderHistory` shows decisions and warnings in order, days, and other pods of the name", () => {
  const earlier = { kind: "pod", name: "default/web-edge-1", uid: "uid-before" } as const;
  const steps = storyOf([
    record("admit", "", { rules: 5 }, { atMs: NOW - 30 * 3600_000, subject: earlier }),
    record("release", "", { cause: "deleted" }, { atMs: NOW - 29 * 3600_000, subject: earlier }),
    record("admit", "", { rules: 5 }, { atMs: NOW - 60_000 }),
    record(
      "startContainer",
      "never started",
      { container: "web", restartCount: 0, policy: "Always" },
      { atMs: NOW - 50_000, outcome: { kind: "done", atMs: NOW - 49_000 } },
    ),
  ]);
  const warnings = [
    anEvent(
      {
        reason: "Unhealthy",
        message: "Readiness probe failed: connection refused",
        type: "Warning",
        pod: "web-edge-1",
        count: 3,
      },
      55,
    ),
  ];
  const history = { name: "default/web-edge-1", steps, warnings, pod: aPod() };
  const lines = renderHistory(history, { now: NOW, columns: 70, paint: plainPaint });
  assertGolden("story.txt", `${lines.join("\n")}\n`);
});

test("`renderHistory` shows the verdicts on a component of the control plane below its state", () => {
  const verdicts = [
    { name: "etcd", level: "ok", found: "healthy", fix: "" },
    { name: "etcd's data", level: "warn", found: "1.7 GiB of 2 GiB", fix: "compact it" },
    { name: "kube-apiserver", level: "fail", found: "not ready", fix: "nodelet why x" },
  ] as const;
  const history = { name: "kube-system/etcd", steps: [], warnings: [], pod: aPod(), verdicts };
  const lines = renderHistory(history, { now: NOW, columns: 70, paint: plainPaint });
  assert.deepEqual(lines.slice(-3), [
    "  Control plane: etcd: healthy",
    "  Control plane: etcd's data: 1.7 GiB of 2 GiB; fix: compact it",
    "  Control plane: kube-apiserver: not ready",
  ]);
});
