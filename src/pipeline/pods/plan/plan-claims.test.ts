import assert from "node:assert/strict";
import { test } from "node:test";
import { aContext, anAttempt, aPod, aRecord, aSandbox, at } from "../../../../test/support/pods.ts";
import { asSpecified, type PodRecord } from "../record/record.ts";
import { transition } from "../record/transition.ts";
import { planPod } from "./plan.ts";

const POD = aPod({ resourceClaims: [{ name: "gpu", resourceClaimName: "gpu" }] });
const PRESENT = { directories: "present", cgroup: "present", volumes: "present" } as const;

const planned = (record: PodRecord) => planPod(record, aContext()).actions.map(({ kind }) => kind);

/** The pod is being ended, and this is what runs of it. */
function ending(containers: readonly ReturnType<typeof anAttempt>[]): PodRecord {
  const given = { pod: POD, containers, sandboxes: [aSandbox()] };
  const record = aRecord(given, { prerequisites: { ...PRESENT, claims: "present" } });
  return transition(record, { kind: "terminate", cause: { kind: "deleted" } }, at(0));
}

test("claims are prepared after volumes and before each sandbox", () => {
  const prerequisites = { ...PRESENT, volumes: "absent", claims: "absent" } as const;
  assert.deepEqual(planned(aRecord({ pod: POD, sandboxes: [] }, { prerequisites })).slice(0, 3), [
    "mountVolumes",
    "prepareClaims",
    "createSandbox",
  ]);
  const dead = { pod: POD, sandboxes: [aSandbox({ ready: false })] };
  const record = aRecord(dead, { prerequisites: { ...PRESENT, claims: "present" } });
  assert.deepEqual(planned(record).slice(0, 2), ["prepareClaims", "createSandbox"]);
});

test("a container that is restarted has its claims already, and a pod without claims needs no step", () => {
  const given = { pod: POD, containers: [] };
  const record = aRecord(given, { prerequisites: { ...PRESENT, claims: "present" } });
  assert.deepEqual(planned(record), ["startContainer"]);
  const without = planned(aRecord({ pod: aPod(), sandboxes: [] }));
  assert.ok(!without.includes("prepareClaims"));
});

test("claims behind extended resources are claims of the pod", () => {
  const status = {
    extendedResourceClaimStatus: { resourceClaimName: "x", requestMappings: [] },
  };
  const record = aRecord({ pod: { ...aPod(), status }, sandboxes: [] });
  assert.deepEqual(planned(record).slice(0, 2), ["prepareClaims", "createSandbox"]);
});

test("claims are unprepared when nothing runs any more, and the pod is terminated only then", () => {
  assert.deepEqual(planned(ending([anAttempt("a")])), ["stopContainers"]);
  const record = ending([anAttempt("a", { state: "exited" })]);
  assert.equal(record.life.kind, "terminating");
  assert.deepEqual(planned(record), ["stopSandbox", "unprepareClaims"]);
  const acted = (outcome: "done" | "failed") => {
    const result =
      outcome === "done"
        ? ({
            step: "#teardown",
            outcome: { kind: "done" },
            prerequisite: { part: "claims", now: "absent" },
          } as const)
        : ({
            step: "#teardown",
            outcome: { kind: "failed", reason: "", message: "no driver", retryInMs: 10 },
          } as const);
    const actuated = asSpecified(POD);
    const ended = transition(
      record,
      { kind: "acted", at: at(1), results: [result], actuated },
      at(1),
    );
    const observed = { ...record.observed, asOf: at(1) };
    return transition(ended, { kind: "observed", observed }, at(1));
  };
  assert.equal(acted("failed").life.kind, "terminating");
  assert.equal(acted("done").life.kind, "terminated");
});

test("a pod that was refused and never had a claim ends without its drivers", () => {
  const record = aRecord(
    { pod: POD, sandboxes: [] },
    { life: { kind: "waiting" }, prerequisites: { ...PRESENT, claims: "absent" } },
  );
  const rejected = transition(record, { kind: "rejected", reason: "OutOfcpu", message: "" }, at(0));
  assert.equal(rejected.life.kind, "terminated");
});
