import assert from "node:assert/strict";
import { test } from "node:test";
import { aContext, anAttempt, aPod, aRecord } from "../../../../test/support/pods.ts";
import { cannotGoOn } from "../record/sandbox.ts";
import { standingsOf } from "../record/standing.ts";
import { planPod } from "./plan.ts";

const OUTSIDE = { directories: "present", cgroup: "absent", volumes: "present" } as const;

test("planSandbox: a pod that was found running outside of its group is started again", () => {
  const record = aRecord({ containers: [anAttempt("a")] }, { prerequisites: OUTSIDE });
  const { actions } = planPod(record, aContext());
  assert.deepEqual(
    actions.map(({ kind }) => kind),
    ["stopContainers", "stopSandbox", "createCgroup", "createSandbox", "startContainer"],
  );
  assert.equal(cannotGoOn(record, standingsOf(record)), false);
});

test("planSandbox: unless it must never start anything twice", () => {
  const pod = aPod({ restartPolicy: "Never" });
  const record = aRecord({ pod, containers: [anAttempt("a")] }, { prerequisites: OUTSIDE });
  assert.deepEqual(planPod(record, aContext()).actions, []);
  assert.equal(cannotGoOn(record, standingsOf(record)), true);
});
