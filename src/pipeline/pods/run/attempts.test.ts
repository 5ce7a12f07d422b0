import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../../test/sim/sim-clock.ts";
import { aRecord } from "../../../../test/support/pods.ts";
import { type Decision, type DecisionOutcome, makeDecision } from "../../../api/decisions.ts";
import { VOLUMES_PROGRESS } from "../../../api/pod-news.ts";
import { Attempts } from "./attempts.ts";

const start = (restartCount = 0) =>
  makeDecision("startContainer", "never started", {
    container: "a",
    restartCount,
    policy: "Always",
  });
const MOUNT = makeDecision("mountVolumes", "not known to be there", { volumes: ["data"] });
const DONE: DecisionOutcome = { kind: "done" };
const failed = (message: string, reason = "ErrImagePull"): DecisionOutcome => ({
  kind: "failed",
  reason,
  message,
  times: 1,
});

/** Records the calls to the journal: `1 startContainer`, `1 failed ErrImagePull no x1`. */
function journal() {
  const lines: string[] = [];
  let decisions = 0;
  const clock = new SimClock();
  const attempts = new Attempts(
    {
      record: (_, { kind }: Decision) => {
        decisions += 1;
        lines.push(`${decisions} ${kind}`);
        return decisions;
      },
      conclude: (_, of, outcome) => {
        const { kind } = outcome;
        const more =
          kind === "failed"
            ? ` ${outcome.reason} ${outcome.message} x${outcome.times}`
            : kind === "pending"
              ? ` ${outcome.message}`
              : "";
        lines.push(`${of} ${kind}${more}`);
      },
    },
    clock,
  );
  const { pod } = aRecord();
  const attempt = (decision: Decision, outcome: DecisionOutcome, waits: readonly string[] = []) => {
    const begun = attempts.begin(pod, decision);
    const name = decision.kind === "mountVolumes" ? VOLUMES_PROGRESS : "a";
    for (const message of waits) attempts.waits(name, message);
    begun.end(outcome);
  };
  return { lines, attempts, attempt, pod };
}

test("begin: a decision is kept before its action is over, what became of it afterwards", () => {
  const { lines, attempts, pod } = journal();
  const begun = attempts.begin(pod, start());
  assert.deepEqual(lines, ["1 startContainer"]);
  begun.end(DONE);
  assert.deepEqual(lines, ["1 startContainer", "1 done"]);
});

test("end: attempts that fail alike are one decision, recorded again when they have doubled", () => {
  const { lines, attempt } = journal();
  for (let times = 1; times <= 9; times += 1) attempt(start(), failed(`after ${times} ms`));
  attempt(start(), DONE);
  assert.deepEqual(lines, [
    "1 startContainer",
    "1 failed ErrImagePull after 1 ms x1",
    "1 failed ErrImagePull after 2 ms x2",
    "1 failed ErrImagePull after 4 ms x4",
    "1 failed ErrImagePull after 8 ms x8",
    "2 startContainer",
    "2 done",
  ]);
});

test("end: another failure, or another decision, is another entry", () => {
  const { lines, attempt } = journal();
  attempt(start(), failed("no"));
  attempt(start(), failed("none"));
  attempt(start(1), failed("none"));
  assert.deepEqual(lines.filter((line) => line.endsWith("startContainer")).length, 3);
});

test("end: a pull that is held back is no attempt, unless nothing is known of one", () => {
  const { lines, attempt } = journal();
  attempt(start(), failed("back-off", "ImagePullBackOff"));
  attempt(start(), failed("no"));
  const before = lines.length;
  attempt(start(), failed("back-off", "ImagePullBackOff"));
  assert.equal(lines.length, before);
  assert.match(lines[1] ?? "", /ImagePullBackOff/);
});

test("end: mounting is kept only where it fails or waits, with what it waits for", () => {
  const { lines, attempt } = journal();
  attempt(MOUNT, DONE);
  assert.deepEqual(lines, []);
  attempt(MOUNT, failed("timed out", "FailedMount"), ["secret x not found", "secret x not found"]);
  attempt(MOUNT, failed("timed out", "FailedMount"), ["secret x not found"]);
  attempt(MOUNT, DONE);
  assert.deepEqual(lines, [
    "1 mountVolumes",
    "1 pending secret x not found",
    "1 failed FailedMount secret x not found x1",
    "1 failed FailedMount secret x not found x2",
    "2 mountVolumes",
    "2 done",
  ]);
});

test("end: what is given up is recorded where the attempt was", () => {
  const { lines, attempt } = journal();
  attempt(start(), { kind: "abandoned", message: "the pod is being ended" });
  attempt(MOUNT, { kind: "abandoned", message: "the pod is being ended" });
  assert.deepEqual(lines, ["1 startContainer", "1 abandoned"]);
});
