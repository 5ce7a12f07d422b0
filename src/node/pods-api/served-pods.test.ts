import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodStatus } from "../../api/generated/types.ts";
import type { PodUid } from "../../api/observation.ts";
import { goneServedPod, servedPod } from "./served-pods.ts";

const podWith = (status?: PodStatus) => ({
  metadata: { name: "p", namespace: "n", uid: "u" as PodUid, labels: { a: "b" } },
  ...(status ? { status } : {}),
});

const NOT_YET = {
  reason: "ContainersNotReady",
  message: "Kubelet is initializing pod containers",
};

/** What the source says, what the agent has derived, what is served. */
const STATUSES: readonly (readonly [
  string,
  PodStatus | undefined,
  PodStatus | undefined,
  PodStatus,
])[] = [
  ["the agent's own", { phase: "Running" }, { phase: "Failed" }, { phase: "Failed" }],
  ["none at all", undefined, undefined, { phase: "Pending" }],
  ["an empty phase", { phase: "" }, undefined, { phase: "Pending" }],
  ["the API server's phase", { phase: "Running" }, undefined, { phase: "Running" }],
  [
    "a ready pod that was not observed yet",
    {
      phase: "Running",
      conditions: [
        { type: "Ready", status: "True" },
        { type: "PodScheduled", status: "True" },
      ],
    },
    undefined,
    {
      phase: "Running",
      conditions: [
        { type: "Ready", status: "False", ...NOT_YET },
        { type: "PodScheduled", status: "True" },
      ],
    },
  ],
  [
    "a pod that is not ready",
    { phase: "Running", conditions: [{ type: "Ready", status: "False", reason: "x" }] },
    undefined,
    { phase: "Running", conditions: [{ type: "Ready", status: "False", reason: "x" }] },
  ],
];

for (const [name, published, derived, served] of STATUSES)
  test(`servedPod: status of ${name}`, () => {
    assert.deepEqual(servedPod({ pod: podWith(published), status: derived }).status, served);
  });

test("goneServedPod: name, namespace and UID alone", () => {
  assert.deepEqual(goneServedPod(podWith({ phase: "Running" })), {
    metadata: { name: "p", namespace: "n", uid: "u" },
  });
});
