import assert from "node:assert/strict";
import { test } from "node:test";
import {
  aContext,
  anAttempt,
  anEnd,
  aRecord,
  aSandbox,
  at,
  type Given,
} from "../../../../test/support/pods.ts";
import type { PodRecord } from "../record.ts";
import { planPod } from "./plan.ts";

const OLD = aSandbox({ id: "sb-1", ready: false, stopped: false });
const SANDBOXES = [aSandbox(), OLD];
const ENDS = [anEnd("a", 1, { restartCount: 1 }), anEnd("a", 1)];

/** A pod with this failure of a step, which is not tried again before 12 s. */
function failed(step: string, containers: Given["containers"] = ENDS): PodRecord {
  const stepFailure = { reason: "", message: "busy", failures: 1, notBefore: at(12_000) };
  const failures = { [step]: stepFailure };
  return aRecord({ sandboxes: SANDBOXES, containers }, { retries: { failures } });
}

function planned(record: PodRecord, ms: number) {
  const { actions, wakeAt } = planPod(record, aContext({ now: at(ms) }));
  return { actions: actions.map(({ kind }) => kind), wakeAt };
}

const ALL = ["stopSandbox", "removeSandbox", "removeContainer", "startContainer"];

test("planPod: what could not be removed keeps no container from being started", () => {
  const stuck = failed("#cleanup");
  assert.deepEqual(planned(stuck, 0), { actions: ["startContainer"], wakeAt: at(12_000) });
  assert.deepEqual(planned(stuck, 12_000), { actions: ALL, wakeAt: undefined });
});

test("planPod: nor one whose probe failed from being stopped", () => {
  const probes = { a: { containerId: "a-2", liveness: "failure" } } as const;
  const stuck = failed("#cleanup", [anAttempt("a", { restartCount: 2 }), ...ENDS]);
  const sick = { ...stuck, tracked: { ...stuck.tracked, probes } };
  assert.deepEqual(planned(sick, 0).actions, ["stopContainers"]);
});

test("planPod: a failed stop holds everything back", () => {
  assert.deepEqual(planned(failed("#teardown"), 0), { actions: [], wakeAt: at(12_000) });
});

test("planPod: only what nobody waits for is a mere cleanup", () => {
  const cleanupsOf = (containers: Given["containers"]) =>
    planPod(failed("#cleanup", containers), aContext({ now: at(12_000) })).actions.flatMap(
      (each) => ("cleanup" in each ? [`${each.kind} ${each.id}`] : []),
    );
  const sandboxes = ["stopSandbox sb-1", "removeSandbox sb-1"];
  assert.deepEqual(cleanupsOf(ENDS), [...sandboxes, "removeContainer a-0"]);
  assert.deepEqual(cleanupsOf([anAttempt("a", { state: "created" })]), sandboxes);
});
