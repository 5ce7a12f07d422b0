import assert from "node:assert/strict";
import { test } from "node:test";
import {
  aContainer,
  anAttempt,
  anEnd,
  aPod,
  aRecord,
  aSandbox,
  at,
  type Given,
  type RecordChanges,
} from "../../../../test/support/pods.ts";
import { derivePhase, isFinished, type PodPhase } from "./phase.ts";
import { standingsOf } from "./standing.ts";

const two = { containers: [aContainer("a"), aContainer("b")] };
const PREP = aContainer("prep");
const SIDE = aContainer("side", { restartPolicy: "Always" });
const ending: RecordChanges = {
  life: { kind: "terminating", cause: { kind: "deleted" }, graceSeconds: 30, killBy: at(1) },
};

type Row = readonly [name: string, given: Given, phase: PodPhase, record?: RecordChanges];

/** Nothing runs any more, and there may be a new sandbox; what ran is in the old one, or forgotten. */
const sandboxes = [aSandbox({ id: "sb-1", attempt: 1 }), aSandbox({ ready: false })];
const prepared = aPod({ initContainers: [PREP, aContainer("prep2")] });
const past = [anEnd("prep", 0), anEnd("prep2", 0), anEnd("a", 137)];
const now = { sandboxId: "sb-1", restartCount: 1 };

const KILLED = anEnd("prep", 0, { reason: "OOMKilled" });
const ONE_INIT = { initContainers: [PREP] };

const OOM_KILLED: readonly Row[] = [
  ["killed for memory: to run again", { pod: aPod(ONE_INIT), containers: [KILLED] }, "Pending"],
  [
    "killed for memory: for good",
    { pod: aPod({ ...ONE_INIT, restartPolicy: "Never" }), containers: [KILLED] },
    "Failed",
    { life: { kind: "terminated", cause: { kind: "completed" } } },
  ],
  [
    "killed for memory: it was taken for done",
    { pod: aPod({ ...ONE_INIT, restartPolicy: "Never" }), containers: [anAttempt("a"), KILLED] },
    "Running",
  ],
];

test("isFinished: an init container that was killed for memory ends a pod that starts nothing again", () => {
  const pod = aPod({ ...ONE_INIT, restartPolicy: "Never" });
  const finished = (given: Given) => isFinished(standingsOf(aRecord(given)));
  assert.equal(finished({ pod, containers: [KILLED] }), true);
  assert.equal(finished({ pod, containers: [anAttempt("a"), KILLED] }), false);
  assert.equal(finished({ pod: aPod(ONE_INIT), containers: [KILLED] }), false);
});

const AFTER_REBOOT: readonly Row[] = [
  ["again: a new sandbox", { pod: prepared, sandboxes, containers: past }, "Pending"],
  [
    "again: its first init container runs",
    { pod: prepared, sandboxes, containers: [anAttempt("prep", now), ...past] },
    "Pending",
  ],
  [
    "again: between two init containers",
    { pod: prepared, sandboxes, containers: [anEnd("prep", 0, now), ...past] },
    "Pending",
  ],
  [
    "again: initialized",
    {
      pod: prepared,
      sandboxes,
      containers: [anAttempt("a", now), anEnd("prep2", 0, now), anEnd("prep", 0, now), ...past],
    },
    "Running",
  ],
  [
    "again: an init container fails for good",
    {
      pod: aPod({ initContainers: [PREP], restartPolicy: "Never" }),
      sandboxes,
      containers: [anEnd("prep", 2, now), anEnd("prep", 0)],
    },
    "Failed",
  ],
  [
    "again: the runtime has forgotten everything",
    { pod: prepared, sandboxes: [] },
    "Pending",
    { tracked: { lost: { a: 137 } } },
  ],
  ["again, without init containers", { sandboxes, containers: [anEnd("a", 137)] }, "Running"],
  [
    "the sandbox is lost, nothing is to run again",
    {
      pod: aPod({ initContainers: [PREP], restartPolicy: "Never" }),
      sandboxes: [aSandbox({ ready: false })],
      containers: [anEnd("prep", 0), anEnd("a", 0)],
    },
    "Succeeded",
  ],
];

/** The next attempt is made but does not run yet. */
const next = { state: "created", restartCount: 1 } as const;

const BEING_RESTARTED: readonly Row[] = [
  ["made, never ran", { containers: [anAttempt("a", { state: "created" })] }, "Pending"],
  ["made again", { containers: [anAttempt("a", next), anEnd("a", 1)] }, "Running"],
  [
    "made again, the other runs",
    { pod: aPod(two), containers: [anAttempt("a", next), anEnd("a", 1), anAttempt("b")] },
    "Running",
  ],
  [
    "made again, the other never ran",
    { pod: aPod(two), containers: [anAttempt("a", next), anEnd("a", 1)] },
    "Pending",
  ],
  [
    "made again, the other ended for good",
    {
      pod: aPod({ ...two, restartPolicy: "OnFailure" }),
      containers: [anAttempt("a", next), anEnd("a", 1), anEnd("b", 0)],
    },
    "Running",
  ],
  [
    "sidecar made again",
    {
      pod: aPod({ initContainers: [SIDE] }),
      containers: [anAttempt("side", next), anEnd("side", 1), anAttempt("a")],
    },
    "Running",
  ],
  [
    "init container made again",
    {
      pod: aPod({ initContainers: [PREP] }),
      containers: [anAttempt("prep", next), anEnd("prep", 1)],
    },
    "Pending",
  ],
  ["ending, made again", { containers: [anAttempt("a", next), anEnd("a", 0)] }, "Failed", ending],
];

const ROWS: readonly Row[] = [
  ["nothing started", {}, "Pending"],
  ...OOM_KILLED,
  ...AFTER_REBOOT,
  ...BEING_RESTARTED,
  ["one of two started", { pod: aPod(two), containers: [anAttempt("a")] }, "Pending"],
  ["all running", { pod: aPod(two), containers: [anAttempt("a"), anAttempt("b")] }, "Running"],
  [
    "one running, one ended",
    { pod: aPod(two), containers: [anAttempt("a"), anEnd("b", 1)] },
    "Running",
  ],
  ["all ended under Always", { containers: [anEnd("a", 0)] }, "Running"],
  [
    "failed under OnFailure",
    { pod: aPod({ restartPolicy: "OnFailure" }), containers: [anEnd("a", 1)] },
    "Running",
  ],
  [
    "well under OnFailure",
    { pod: aPod({ restartPolicy: "OnFailure" }), containers: [anEnd("a", 0)] },
    "Succeeded",
  ],
  [
    "well under Never",
    { pod: aPod({ restartPolicy: "Never" }), containers: [anEnd("a", 0)] },
    "Succeeded",
  ],
  [
    "failed under Never",
    { pod: aPod({ restartPolicy: "Never" }), containers: [anEnd("a", 3)] },
    "Failed",
  ],
  [
    "one well and one failed under Never",
    { pod: aPod({ ...two, restartPolicy: "Never" }), containers: [anEnd("a", 0), anEnd("b", 1)] },
    "Failed",
  ],
  [
    "init runs",
    { pod: aPod({ initContainers: [PREP] }), containers: [anAttempt("prep")] },
    "Pending",
  ],
  [
    "init failed and will be retried",
    { pod: aPod({ initContainers: [PREP] }), containers: [anEnd("prep", 1)] },
    "Pending",
  ],
  [
    "init failed for good",
    {
      pod: aPod({ initContainers: [PREP], restartPolicy: "Never" }),
      containers: [anEnd("prep", 1)],
    },
    "Failed",
  ],
  [
    "init done, regular not yet",
    { pod: aPod({ initContainers: [PREP] }), containers: [anEnd("prep", 0)] },
    "Pending",
  ],
  [
    "lost init record",
    { pod: aPod({ initContainers: [PREP] }), containers: [anAttempt("a")] },
    "Running",
  ],
  [
    "sidecar alone",
    { pod: aPod({ initContainers: [SIDE] }), containers: [anAttempt("side")] },
    "Pending",
  ],
  [
    "sidecar runs, the rest did its work",
    {
      pod: aPod({ initContainers: [SIDE], restartPolicy: "OnFailure" }),
      containers: [anEnd("a", 0), anAttempt("side")],
    },
    "Running",
  ],
  [
    "ended sidecar does not count",
    {
      pod: aPod({ initContainers: [SIDE], restartPolicy: "Never" }),
      containers: [anEnd("a", 0), anEnd("side", 137)],
    },
    "Succeeded",
  ],
  [
    "one running, one gone from the runtime",
    { pod: aPod(two), containers: [anAttempt("a")] },
    "Running",
    { tracked: { lost: { b: 137 } } },
  ],
  ["all gone from the runtime", {}, "Running", { tracked: { lost: { a: 137 } } }],
  [
    "gone from the runtime under Never",
    { pod: aPod({ restartPolicy: "Never" }) },
    "Failed",
    { tracked: { lost: { a: 137 } } },
  ],
  [
    "gone after its work, and init containers too",
    { pod: aPod({ initContainers: [PREP], restartPolicy: "OnFailure" }) },
    "Succeeded",
    { tracked: { lost: { a: 0 } } },
  ],
  ["unknown state", { containers: [anAttempt("a", { state: "unknown" })] }, "Pending"],
  ["ending, still running", { containers: [anAttempt("a")] }, "Running", ending],
  ["ending, all well", { containers: [anEnd("a", 0)] }, "Succeeded", ending],
  ["ending, one failed", { containers: [anEnd("a", 143)] }, "Failed", ending],
  ["ending, nothing ever ran", {}, "Failed", ending],
  ["rejected", {}, "Failed", { admission: { kind: "rejected", reason: "OutOfcpu", message: "" } }],
  [
    "evicted",
    { containers: [anEnd("a", 0)] },
    "Failed",
    { life: { kind: "terminated", cause: { kind: "evicted", reason: "Evicted", message: "" } } },
  ],
  ["preempted, and exited with 0", { containers: [anEnd("a", 0)] }, "Succeeded", preempted("api")],
  ["preempted, and exited with 143", { containers: [anEnd("a", 143)] }, "Failed", preempted("api")],
  ["preempted before anything ran", {}, "Failed", preempted("api")],
  ["preempted, still running", { containers: [anAttempt("a")] }, "Running", preempted("api")],
  [
    "preempted, of a manifest, and exited with 0",
    { containers: [anEnd("a", 0)] },
    "Failed",
    preempted("file"),
  ],
];

function preempted(source: "api" | "file"): RecordChanges {
  const cause = { reason: "Preempting", message: "", byExitCodes: true } as const;
  const life = { kind: "terminated", cause: { kind: "evicted", ...cause } } as const;
  return { life, desired: { source, pod: aPod() } };
}

for (const [name, given, phase, record] of ROWS) {
  test(`derivePhase: ${name} is ${phase}`, () => {
    assert.equal(derivePhase(aRecord(given, record)), phase);
  });
}
