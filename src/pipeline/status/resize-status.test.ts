import assert from "node:assert/strict";
import { test } from "node:test";
import {
  aContainer,
  anAttempt,
  anEnd,
  aPod,
  aRecord,
  at,
  wall,
} from "../../../test/support/pods.ts";
import { asSpecified, type PodRecord } from "../pods/record/record.ts";
import { standingsOf } from "../pods/record/standing.ts";
import { containerResources, resizeConditions } from "./resize-status.ts";

const HALF = { cpu: "500m", memory: "1Gi" };
const given = (requests: object, more: object = {}) => ({
  requests: { ...requests, "ephemeral-storage": "1Gi" },
  ...more,
});
const podOf = (requests: object, more: object = {}) =>
  aPod({ containers: [aContainer("a", { resources: given(requests, more) })] });

/** Resources of the pod's first container. */
function resourcesIn(record: PodRecord) {
  const [standing] = standingsOf(record).regular;
  assert.ok(standing);
  return containerResources(record, standing);
}

test("containerResources: what is had while it runs, what was given otherwise", () => {
  const pod = podOf({ cpu: "1", memory: "1Gi" }, { limits: { cpu: "2" } });
  const resize = { actuated: asSpecified(podOf(HALF, { limits: { cpu: "1" } })) };
  const allocatedResources = { cpu: "1", memory: "1Gi", "ephemeral-storage": "1Gi" };
  const running = aRecord({ pod, containers: [anAttempt("a")] }, { resize });
  assert.deepEqual(resourcesIn(running), {
    allocatedResources,
    resources: { limits: { cpu: "1" }, requests: given(HALF).requests },
  });
  const ended = aRecord({ pod, containers: [anEnd("a", 1)] }, { resize });
  assert.deepEqual(resourcesIn(ended), {
    allocatedResources,
    resources: { limits: { cpu: "2" }, requests: allocatedResources },
  });
  assert.deepEqual(resourcesIn(aRecord({ pod })), {});
});

test("containerResources: a container without any says so, which shows that the node supports resizes", () => {
  const record = aRecord({ containers: [anAttempt("a")] });
  assert.deepEqual(resourcesIn(record), { resources: {} });
});

test("resizeConditions: waiting, going on, failed", () => {
  const actuated = asSpecified(aPod());
  assert.deepEqual(resizeConditions(aRecord()), []);
  const pending = {
    reason: "Deferred",
    message: "later",
    generation: 3,
    sinceMs: wall(0),
  } as const;
  const record = aRecord({}, { resize: { actuated, pending, inProgress: { generation: 2 } } });
  const waiting = {
    type: "PodResizePending",
    status: "True",
    reason: "Deferred",
    message: "later",
    observedGeneration: 3,
  };
  const going = { type: "PodResizeInProgress", status: "True", observedGeneration: 2 };
  assert.deepEqual(resizeConditions(record), [waiting, going]);
  const cause = { kind: "completed" } as const;
  assert.deepEqual(resizeConditions({ ...record, life: { kind: "terminated", cause } }), []);
  const stepFailure = { reason: "Error", message: "no", failures: 1, notBefore: at(1) };
  assert.deepEqual(
    resizeConditions({ ...record, retries: { backoff: {}, failures: { "#resize": stepFailure } } }),
    [waiting, { ...going, reason: "Error", message: "no" }],
  );
});
