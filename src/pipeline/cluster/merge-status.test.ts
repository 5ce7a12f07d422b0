import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodStatus } from "../../api/generated/types.ts";
import { identifyPod } from "../../api/pod-identity.ts";
import { mergeStatus, ownPart, statusPatch, URGENCY, urgencyOf } from "./merge-status.ts";

const READY = { type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" };
const NOT_READY = { ...READY, status: "False" };
const GATE = { type: "example.com/gate", status: "True" };

test("mergeStatus keeps what others have put there", () => {
  const known: PodStatus = {
    phase: "Pending",
    nominatedNodeName: "n",
    conditions: [GATE, NOT_READY],
  };
  const own: PodStatus = { phase: "Running", conditions: [READY] };
  assert.deepEqual(mergeStatus(known, own), {
    phase: "Running",
    nominatedNodeName: "n",
    conditions: [READY, GATE],
  });
});

test("mergeStatus never leaves a terminal phase that the API has", () => {
  const known: PodStatus = { phase: "Failed", reason: "Evicted", message: "by somebody" };
  const merged = mergeStatus(known, { phase: "Running", conditions: [] });
  assert.deepEqual(
    [merged.phase, merged.reason, merged.message],
    ["Failed", "Evicted", "by somebody"],
  );
  assert.equal(mergeStatus(known, { phase: "Succeeded" }).phase, "Succeeded");
});

test("statusPatch sends what differs, with the UID it is meant for", () => {
  const known = identifyPod({
    metadata: { uid: "u" },
    status: { phase: "Pending", conditions: [GATE, NOT_READY] },
  });
  assert.deepEqual(statusPatch(known, { phase: "Running", conditions: [READY] }), {
    metadata: { uid: "u" },
    status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
  });
});

test("statusPatch sends nothing when the API has it, whatever the order of conditions", () => {
  const known = identifyPod({
    metadata: { uid: "u" },
    status: { phase: "Running", conditions: [GATE, READY] },
  });
  assert.equal(statusPatch(known, { phase: "Running", conditions: [READY] }), undefined);
});

test("ownPart leaves out conditions and fields of others", () => {
  const status: PodStatus = { phase: "Running", nominatedNodeName: "n", conditions: [GATE, READY] };
  assert.deepEqual(ownPart(status), { phase: "Running", conditions: [READY] });
});

test("urgencyOf puts ended pods first, then those whose readiness changed", () => {
  const running: PodStatus = { phase: "Running", conditions: [NOT_READY] };
  assert.equal(urgencyOf(running, { phase: "Failed" }), URGENCY.ended);
  assert.equal(urgencyOf(running, { phase: "Running", conditions: [READY] }), URGENCY.readiness);
  assert.equal(urgencyOf(running, { ...running, podIP: "192.0.2.1" }), URGENCY.other);
  const containersReady = { ...READY, type: "ContainersReady" };
  const gated: PodStatus = { phase: "Running", conditions: [containersReady, NOT_READY] };
  assert.equal(urgencyOf(running, gated), URGENCY.readiness, "a readiness gate waits for it");
  assert.equal(
    urgencyOf({ phase: "Failed" }, { phase: "Failed" }),
    URGENCY.other,
    "written already",
  );
  const { ended, readiness, other } = URGENCY;
  assert.ok(ended < readiness && readiness < other);
});
