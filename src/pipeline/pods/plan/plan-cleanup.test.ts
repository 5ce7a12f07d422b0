import assert from "node:assert/strict";
import { test } from "node:test";
import {
  aContainer,
  aContext,
  anAttempt,
  anEnd,
  aPod,
  aRecord,
  aSandbox,
  at,
  type Given,
  type RecordChanges,
} from "../../../../test/support/pods.ts";
import type { PodRecord } from "../record/record.ts";
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

const NOW = aSandbox({ id: "sb-9", attempt: 9 });
const GONE = aSandbox({ id: "sb-1", attempt: 1, ready: false });
const GONE_BEFORE = aSandbox({ id: "sb-0", ready: false });
const PREP = aContainer("prep");
/** Of three sandboxes one attempt each. */
const PREPARED = ["sb-9", "sb-1", "sb-0"].map((sandboxId, i) =>
  anEnd("prep", 0, { sandboxId, restartCount: 2 - i }),
);
const MADE_ONLY = anAttempt("prep", { state: "created", sandboxId: "sb-1", restartCount: 1 });

interface CleanupCase {
  readonly name: string;
  readonly given: Given;
  readonly more?: RecordChanges;
  readonly removed: readonly string[];
}

const CLEANUPS: readonly CleanupCase[] = [
  {
    name: "attempts of an init container that is done",
    given: {
      pod: aPod({ initContainers: [PREP] }),
      sandboxes: [NOW, GONE],
      containers: [anAttempt("a", { sandboxId: "sb-9" }), ...PREPARED],
    },
    removed: ["prep-1", "prep-0"],
  },
  {
    name: "attempts of an init container that is to run again",
    given: {
      pod: aPod({ initContainers: [PREP] }),
      sandboxes: [GONE, GONE_BEFORE],
      containers: PREPARED.slice(1),
    },
    removed: ["prep-0"],
  },
  {
    name: "attempts of regular containers that have no turn yet",
    given: {
      pod: aPod({ initContainers: [PREP] }),
      sandboxes: [NOW],
      containers: [
        anAttempt("prep", { sandboxId: "sb-9" }),
        anEnd("a", 1, { restartCount: 1 }),
        anEnd("a", 1),
      ],
    },
    removed: ["a-0"],
  },
  {
    name: "an attempt that was never started, once there is another",
    given: {
      pod: aPod({ initContainers: [PREP] }),
      sandboxes: [NOW, GONE],
      containers: [anAttempt("prep", { sandboxId: "sb-9", restartCount: 2 }), MADE_ONLY],
    },
    removed: ["prep-1"],
  },
  {
    name: "sandboxes that died before the newest one did",
    given: { sandboxes: [GONE, GONE_BEFORE] },
    removed: ["sb-0"],
  },
  {
    name: "not the newest sandbox, nor one in which something is kept",
    given: { sandboxes: [GONE, GONE_BEFORE], containers: [anEnd("a", 1)] },
    removed: [],
  },
  {
    name: "what is dead while the network of the node is not ready",
    given: {
      sandboxes: [GONE, GONE_BEFORE],
      containers: [
        anEnd("a", 1, { sandboxId: "sb-1", restartCount: 1 }),
        anEnd("a", 1, { sandboxId: "sb-1" }),
      ],
    },
    removed: ["sb-0", "a-0"],
  },
  {
    name: "surplus attempts of a pod that has ended",
    given: {
      sandboxes: [GONE, GONE_BEFORE],
      containers: [
        anEnd("a", 0, { sandboxId: "sb-1", restartCount: 1 }),
        anEnd("a", 1, { sandboxId: "sb-1" }),
      ],
    },
    more: { life: { kind: "terminated", cause: { kind: "completed" } } },
    removed: ["sb-0", "a-0"],
  },
];

for (const { name, given, more, removed } of CLEANUPS)
  test(`planPod removes ${name}`, () => {
    const network = { ready: !name.includes("network"), message: "no plugin" };
    const { actions } = planPod(aRecord(given, more), aContext({ network }));
    const cleanups = actions.flatMap((each) =>
      each.kind !== "stopSandbox" && "cleanup" in each ? [each.id] : [],
    );
    assert.deepEqual(cleanups, removed);
  });
