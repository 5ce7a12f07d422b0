import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodStatus } from "../../../api/generated/types.ts";
import { causeOf, hasEnded } from "./ended-before.ts";
import type { PodOrigin } from "./record.ts";

const LOW = "The node was low on resource: memory. Threshold quantity: 1Gi, available: 1Mi. ";
const SHUTDOWN = {
  reason: "Terminated",
  message: "Pod was terminated in response to imminent node shutdown.",
};
const containerStatuses: PodStatus["containerStatuses"] = [];

for (const [what, source, status, expected] of [
  ["nothing published", "api", undefined, false],
  ["a pod that runs", "api", { phase: "Running" }, false],
  ["a pod that failed", "api", { phase: "Failed" }, true],
  ["a pod that was being evicted", "api", { phase: "Running", reason: "Evicted" }, true],
  ["a manifest that was refused", "file", { phase: "Failed" }, false],
  ["a manifest under pressure once", "file", { phase: "Failed", reason: "Evicted" }, false],
  ["a pod that a shutdown ended", "api", { phase: "Failed", ...SHUTDOWN }, true],
  ["a pod that a shutdown cut off", "api", { phase: "Running", ...SHUTDOWN }, false],
  [
    "a manifest that a shutdown ended",
    "file",
    { phase: "Failed", containerStatuses, ...SHUTDOWN },
    false,
  ],
  ["a manifest that failed", "file", { phase: "Failed", containerStatuses }, true],
] as const satisfies readonly (readonly [string, PodOrigin, PodStatus | undefined, boolean])[])
  test(`hasEnded: ${what}`, () => assert.equal(hasEnded(source, status), expected));

test("causeOf: the message of an eviction is kept, and DisruptionTarget", () => {
  const evicted = { kind: "evicted", reason: "Evicted" };
  assert.deepEqual(causeOf({}, { phase: "Running", reason: "Evicted", message: LOW }), {
    ...evicted,
    message: LOW,
    disruption: LOW,
  });
  const message = 'Usage of EmptyDir volume "v" exceeds the limit "5Mi". ';
  assert.deepEqual(causeOf({}, { phase: "Failed", reason: "Evicted", message }), {
    ...evicted,
    message,
  });
  assert.deepEqual(causeOf({}, { phase: "Failed", ...SHUTDOWN }), {
    kind: "evicted",
    ...SHUTDOWN,
    disruption: SHUTDOWN.message,
  });
  assert.deepEqual(causeOf({}, { phase: "Failed" }), { kind: "completed" });
  const deleted = { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } };
  assert.deepEqual(causeOf(deleted, { phase: "Running" }), { kind: "deleted" });
});
