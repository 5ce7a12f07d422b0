import assert from "node:assert/strict";
import { test } from "node:test";
import { aDecision as record } from "../../../test/cli/decisions.ts";
import { NOW } from "../../../test/cli/pods.ts";
import type { DecisionOutcome } from "../../api/decisions.ts";
import { describeDecision, storyOf, storyTitle } from "./why.ts";

const START = { container: "web", restartCount: 0, policy: "Always" } as const;
const AGAIN = { ...START, restartCount: 2, lastExitCode: 1 } as const;

/** Outcome of the start of `web`, and its text. */
const OUTCOMES: readonly (readonly [DecisionOutcome | undefined, string, string])[] = [
  [undefined, "starting", "Decided to start web."],
  [{ kind: "done" }, "started", "Started web after 10 s."],
  [{ kind: "pending" }, "starting", "Starting web."],
  [{ kind: "pending", message: "Pulling image x" }, "starting", "Starting web: Pulling image x."],
  [
    { kind: "failed", reason: "ErrImagePull", message: "x: not found", times: 1 },
    "not started",
    "Failed to start web: ErrImagePull: x: not found.",
  ],
  [
    { kind: "failed", reason: "ErrImagePull", message: "x: not found", times: 4 },
    "not started",
    "Failed to start web (4 times in 10 s): ErrImagePull: x: not found.",
  ],
  [
    { kind: "failed", reason: "PostStartHookError", message: "exit 1", times: 1 },
    "not started",
    "Started web, then stopped it as its postStart hook failed: exit 1.",
  ],
  [
    { kind: "abandoned", message: "the pod is being ended" },
    "given up",
    "Did not start web: the pod is being ended.",
  ],
  [
    { kind: "unknown" },
    "starting",
    "Began to start web; the agent was stopped before the result was known.",
  ],
];

test("`describeDecision` includes the outcome of a decision", () => {
  for (const [outcome, title, expected] of OUTCOMES) {
    const settled = outcome === undefined ? {} : { outcome: { ...outcome, atMs: NOW - 50_000 } };
    const start = record("startContainer", "never started", START, settled);
    assert.deepEqual([storyTitle(start), describeDecision(start)], [title, expected]);
  }
  const outcome = { kind: "pending", atMs: NOW } as const;
  const restart = record("startContainer", "restartPolicy Always", AGAIN, { outcome });
  assert.equal(
    describeDecision(restart),
    "Restarting web (restart 2): it exited with code 1, and restartPolicy is Always.",
  );
});

test("`storyOf` puts an end after what it may come from, and before what it led to", () => {
  const at = (sequence: number, ms: number) => ({ sequence, atMs: NOW + ms });
  const exit = { container: "web", restartCount: 0, exitCode: 143, reason: "Error" };
  const kill = { container: "web", graceSeconds: 5, detail: "" };
  const records = [
    record("killContainer", "pod deleted", kill, at(1, 0.6)),
    record("startContainer", "never started", { ...START, container: "b" }, at(2, 5_000)),
    record("containerExited", "Error", exit, at(6, 0)),
    record("startContainer", "restartPolicy Always", { ...AGAIN, restartCount: 1 }, at(4, 0.6)),
    record("containerExited", "Error", { ...exit, container: "b" }, at(5, 8_000)),
  ];
  assert.deepEqual(
    storyOf(records).map(({ kind }) => kind),
    ["killContainer", "containerExited", "startContainer", "startContainer", "containerExited"],
  );
});
