import assert from "node:assert/strict";
import { test } from "node:test";
import { aRecord } from "../../../../test/support/pods.ts";
import { withPlan } from "./with-plan.ts";

const WAIT = { reason: "CrashLoopBackOff", message: "back-off 10s" };
const START = { kind: "startContainer", name: "a" };
const NOTHING = { waits: {}, standing: [], actions: [] };

test("the last wait of a container is kept while it is started, and no longer", () => {
  const waiting = withPlan(aRecord(), { ...NOTHING, waits: { a: WAIT, b: WAIT } });
  assert.deepEqual(waiting.lastPlan.waits, { a: WAIT, b: WAIT });
  assert.equal(waiting.lastPlan.earlierWaits, undefined);
  const other = { kind: "createSandbox" };
  const starting = withPlan(waiting, { ...NOTHING, actions: [other, START] });
  assert.deepEqual(starting.lastPlan.waits, {});
  assert.deepEqual(starting.lastPlan.earlierWaits, { a: WAIT });
  const again = withPlan(starting, { ...NOTHING, actions: [START] });
  assert.deepEqual(again.lastPlan.earlierWaits, { a: WAIT }, "it did not start");
  assert.equal(withPlan(again, NOTHING).lastPlan.earlierWaits, undefined);
  const first = withPlan(aRecord(), { ...NOTHING, actions: [START] });
  assert.equal(first.lastPlan.earlierWaits, undefined, "it has not waited");
});
