import assert from "node:assert/strict";
import { test } from "node:test";
import { fixFor } from "./fixes.ts";
import { problemText } from "./pod-problem.ts";

/** The problem of a pod whose container ended like this and waits for its restart. */
function afterEnd(reason: string, message: string): string {
  const terminated = { exitCode: 1, reason, message };
  const waiting = {
    reason: "CrashLoopBackOff",
    message: "back-off 10s restarting failed container",
  };
  const status = { name: "c", image: "i", imageID: "", restartCount: 1, ready: false };
  return problemText({
    metadata: { namespace: "default", name: "web", uid: "u" },
    spec: { containers: [{ name: "c" }] },
    status: {
      phase: "Running",
      containerStatuses: [{ ...status, state: { waiting }, lastState: { terminated } }],
    },
  });
}

for (const output of [
  'secret "db" not found',
  "dial: permission denied: unknown",
  "the child was OOMKilled",
  "Too many pods",
])
  test(`a program that ends with "${output}" gets its logs as fix, whatever it says`, () =>
    assert.equal(
      afterEnd("Error", output),
      `c exited with code 1: ${output}, restarted after a back-off of 10s; fix: nodelet logs web -c c --previous`,
    ));

test("what the runtime says of a failed start names the fix", () =>
  assert.match(
    afterEnd("StartError", "exec: no: executable file not found in $PATH"),
    /; fix: correct the container's command, or use an image that has it$/,
  ));

test("a runtime that does not answer in time is no deadline of the pod", () => {
  const pod = { namespace: "default", name: "web" };
  const message = "rpc error: code = DeadlineExceeded desc = context deadline exceeded";
  assert.doesNotMatch(fixFor("FailedKillPod", message, pod) ?? "", /activeDeadlineSeconds/);
  const over = "Pod was active on the node longer than the specified deadline";
  assert.equal(fixFor("DeadlineExceeded", over, pod), "raise activeDeadlineSeconds");
});
