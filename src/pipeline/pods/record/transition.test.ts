import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  aContainer,
  anAttempt,
  anEnd,
  aPod,
  aRecord,
  aSandbox,
  at,
} from "../../../../test/support/pods.ts";
import type { Observation, ObservedContainer } from "../../../api/observation.ts";
import { InvariantError } from "../../../kit/errors.ts";
import { derivePhase } from "./phase.ts";
import { asSpecified, type PodLife, type PodRecord } from "./record.ts";
import type { PodSignal } from "./signals.ts";
import { checkEdge, transition } from "./transition.ts";

const LIVES = ["waiting", "running", "terminating", "terminated", "released"];

function seen(asOf: number, containers: readonly ObservedContainer[], sandbox = true): Observation {
  return { asOf: at(asOf), sandboxes: sandbox ? [aSandbox()] : [], containers };
}

function play(record: PodRecord, signals: readonly PodSignal[]): PodRecord {
  return signals.reduce((now, signal, i) => transition(now, signal, at(i + 1)), record);
}

const waiting = (): PodRecord =>
  aRecord({}, { life: { kind: "waiting" }, admission: { kind: "undecided" } });

test("transition: admission starts the life of a pod", () => {
  assert.equal(play(waiting(), [{ kind: "admitted" }]).life.kind, "running");
});

test("transition: a rejected pod ends without ever having run", () => {
  const record = play(waiting(), [{ kind: "rejected", reason: "OutOfcpu", message: "no" }]);
  assert.deepEqual(record.life, { kind: "terminated", cause: { kind: "rejected" } });
  assert.equal(record.admission.kind, "rejected");
});

test("transition: a pod whose work is done ends by itself", () => {
  const record = aRecord({ pod: aPod({ restartPolicy: "Never" }), containers: [anAttempt("a")] });
  const done = play(record, [{ kind: "observed", observed: seen(1, [anEnd("a", 0)]) }]);
  assert.deepEqual(done.life, { kind: "terminated", cause: { kind: "completed" } });
});

test("transition: a pod that cannot be observed stands still until it can", () => {
  const record = aRecord({ containers: [anAttempt("a")] }, { sync: { freshness: "fresh" } });
  const blind = play(record, [
    { kind: "unobserved", asOf: at(5), problem: undefined },
    { kind: "terminate", cause: { kind: "deleted" } },
    { kind: "unobserved", asOf: at(6), problem: "container a: broken" },
    { kind: "unobserved", asOf: at(7), problem: undefined },
  ]);
  assert.equal(blind.sync.freshness, "stale");
  assert.equal(blind.sync.degraded, "container a: broken");
  assert.deepEqual(blind.observed, record.observed, "what was last known is kept");
  assert.equal(blind.life.kind, "terminating");
  const healed = transition(blind, { kind: "observed", observed: seen(8, [anEnd("a", 0)]) }, at(9));
  assert.equal(healed.sync.degraded, undefined);
  assert.equal(healed.life.kind, "terminated");
});

test("transition: an older failure takes nothing back", () => {
  const record = play(aRecord({}), [
    { kind: "observed", observed: seen(10, [anAttempt("a")]) },
    { kind: "unobserved", asOf: at(9), problem: "late" },
  ]);
  assert.equal(record.sync.freshness, "fresh");
  assert.equal(record.sync.degraded, undefined);
});

test("transition: nothing is called ended on an observation from before the last action", () => {
  const ending = play(aRecord({ containers: [anEnd("a", 1)] }), [
    { kind: "acting", backoff: {}, touches: [], replaces: [] },
    { kind: "terminate", cause: { kind: "deleted" } },
    { kind: "acted", at: at(10), results: [], actuated: asSpecified(aPod()) },
    { kind: "observed", observed: seen(9, [anEnd("a", 1)]) },
  ]);
  assert.equal(ending.life.kind, "terminating");
  assert.equal(ending.sync.freshness, "stale");
  const later = transition(
    ending,
    { kind: "observed", observed: seen(11, [anAttempt("a")]) },
    at(12),
  );
  assert.equal(later.life.kind, "terminating");
  const ended = transition(
    later,
    { kind: "observed", observed: seen(13, [anEnd("a", 1)]) },
    at(14),
  );
  assert.equal(ended.life.kind, "terminated");
});

test("transition: an older observation never replaces a newer one", () => {
  const record = play(aRecord(), [
    { kind: "observed", observed: seen(5, [anAttempt("a")]) },
    { kind: "observed", observed: seen(4, []) },
  ]);
  assert.equal(record.observed.containers.length, 1);
});

test("transition: a grace only shrinks and is at least one second", () => {
  const graces = (signals: readonly (number | undefined)[]) => {
    const record = play(
      aRecord({ containers: [anAttempt("a")] }),
      signals.map((graceSeconds) => ({
        kind: "terminate" as const,
        cause: { kind: "deleted" as const },
        ...(graceSeconds === undefined ? {} : { graceSeconds }),
      })),
    );
    assert(record.life.kind === "terminating");
    return record.life.graceSeconds;
  };
  assert.equal(graces([undefined]), 30);
  assert.equal(graces([0]), 1);
  assert.equal(graces([1, 30]), 1);
  assert.equal(graces([undefined, 5]), 5);
  assert.equal(graces([60, undefined]), 60);
});

test("transition: a pod is released only when its source dropped it and nothing is left", () => {
  const clean = { directories: "absent", cgroup: "absent", volumes: "absent" } as const;
  const ended = aRecord(
    { sandboxes: [], containers: [] },
    { life: { kind: "terminated", cause: { kind: "completed" } }, prerequisites: clean },
  );
  assert.equal(play(ended, [{ kind: "tick" }]).life.kind, "terminated");
  assert.equal(play(ended, [{ kind: "removed" }]).life.kind, "released");
  const leftover = { ...ended, prerequisites: { ...clean, cgroup: "unknown" as const } };
  assert.equal(play(leftover, [{ kind: "removed" }]).life.kind, "terminated");
});

test("transition: what an action may have made counts as made until it is known to be gone", () => {
  const clean = { directories: "absent", cgroup: "absent", volumes: "absent" } as const;
  const acting = play(aRecord({}, { prerequisites: clean }), [
    { kind: "acting", backoff: {}, touches: ["cgroup"], replaces: [] },
  ]);
  assert.equal(acting.prerequisites.cgroup, "unknown");
});

test("transition: what was stopped to be started again does not end the pod by ending well", () => {
  const pod = aPod({ restartPolicy: "OnFailure" });
  const stopped = play(aRecord({ pod, containers: [anAttempt("a")] }), [
    { kind: "acting", backoff: {}, touches: [], replaces: ["a-0"] },
    { kind: "acted", at: at(10), results: [], actuated: asSpecified(pod) },
    { kind: "observed", observed: seen(11, [anEnd("a", 0)]) },
  ]);
  assert.equal(stopped.life.kind, "running");
  assert.equal(derivePhase(stopped), "Running");
  const next = anEnd("a", 0, { id: "a-1", restartCount: 1 });
  const done = play(stopped, [{ kind: "observed", observed: seen(20, [next, anEnd("a", 0)]) }]);
  assert.deepEqual(done.life, { kind: "terminated", cause: { kind: "completed" } });
  const gone = play(stopped, [{ kind: "observed", observed: seen(30, [next]) }]);
  assert.deepEqual(gone.tracked.replaced, []);
});

test("transition: another image is not held back by what went wrong with the one before", () => {
  const stepFailure = {
    reason: "ImagePullBackOff",
    message: "no",
    failures: 6,
    notBefore: at(300_000),
  };
  const failures = { a: stepFailure, b: stepFailure, "#prepare": stepFailure };
  const of = (image: string) => aPod({ containers: [aContainer("a", { image }), aContainer("b")] });
  const stuck = aRecord({ pod: of("img:bad") }, { retries: { failures } });
  const mended = play(stuck, [{ kind: "desired", pod: of("img:good") }]);
  assert.deepEqual(Object.keys(mended.retries.failures), ["b", "#prepare"]);
  const same = play(stuck, [{ kind: "desired", pod: of("img:bad") }]);
  assert.equal(same.retries.failures, failures);
});

test("transition: a container that the runtime forgot has ended", () => {
  const forget = (pod: ReturnType<typeof aPod>, containers: readonly ObservedContainer[]) =>
    play(aRecord({ pod, containers }), [{ kind: "observed", observed: seen(1, []) }]);
  const never = aPod({ restartPolicy: "Never" });
  const lost = forget(never, [anAttempt("a")]);
  assert.deepEqual(lost.life, { kind: "terminated", cause: { kind: "completed" } });
  assert.equal(derivePhase(lost), "Failed");
  const always = forget(aPod(), [anAttempt("a")]);
  assert.deepEqual([always.life.kind, derivePhase(always)], ["running", "Running"]);
  const unstarted = forget(never, [anAttempt("a", { state: "created" })]);
  assert.deepEqual([unstarted.life.kind, derivePhase(unstarted)], ["running", "Pending"]);
  const again = play(always, [{ kind: "observed", observed: seen(2, [anAttempt("a")]) }]);
  assert.deepEqual(again.tracked.lost, {});
});

test("transition: a failure delays its container for its retry time", () => {
  const record = play(aRecord(), [
    { kind: "acting", backoff: {}, touches: [], replaces: [] },
    {
      kind: "acted",
      at: at(100),
      results: [
        {
          step: "a",
          outcome: { kind: "failed", reason: "ErrImagePull", message: "no", retryInMs: 50 },
        },
      ],
      actuated: asSpecified(aPod()),
    },
  ]);
  assert.deepEqual(record.retries.failures["a"], {
    reason: "ErrImagePull",
    message: "no",
    failures: 1,
    notBefore: 150,
  });
});

test("transition: verdicts of a new attempt replace those of the old one", () => {
  const record = play(aRecord(), [
    { kind: "probed", container: "a", containerId: "a-0", probe: "readiness", result: "success" },
    { kind: "probed", container: "a", containerId: "a-1", probe: "liveness", result: "failure" },
  ]);
  assert.deepEqual(record.tracked.probes["a"], { containerId: "a-1", liveness: "failure" });
});

const containersArb = fc.subarray(
  [anAttempt("a"), anEnd("a", 1), anEnd("a", 0), anAttempt("a", { state: "unknown" })],
  { maxLength: 1 },
);
const signalArb: fc.Arbitrary<PodSignal> = fc.oneof(
  fc.constant({ kind: "admitted" } as const),
  fc.constant({ kind: "removed" } as const),
  fc.constant({ kind: "tick" } as const),
  fc.constant({ kind: "clear" } as const),
  fc.constant({ kind: "rejected", reason: "r", message: "m" } as const),
  fc.constant({ kind: "deferred", reason: "r", message: "m" } as const),
  fc.record({
    kind: fc.constant("terminate" as const),
    cause: fc.constant({ kind: "deleted" as const }),
    graceSeconds: fc.integer({ min: 0, max: 60 }),
  }),
  fc.constant({ kind: "acting", backoff: {}, touches: ["cgroup"], replaces: [] } as const),
  fc.constant({ kind: "acting", backoff: {}, touches: [], replaces: [], stops: true } as const),
  fc.record({
    kind: fc.constant("acted" as const),
    at: fc.integer({ min: 0, max: 100 }).map(at),
    results: fc.constant([]),
    actuated: fc.constant(asSpecified(aPod())),
  }),
  fc.record({
    kind: fc.constant("observed" as const),
    observed: fc
      .tuple(fc.integer({ min: 0, max: 100 }), containersArb, fc.boolean())
      .map(([asOf, containers, sandbox]) => seen(asOf, containers, sandbox)),
  }),
);

test("transition: any history of signals is taken in, and life only goes forward", () => {
  fc.assert(
    fc.property(fc.array(signalArb, { maxLength: 30 }), (signals) => {
      let record = waiting();
      signals.forEach((signal, i) => {
        const before = record;
        record = transition(record, signal, at(i * 5));
        assert(
          LIVES.indexOf(record.life.kind) >= LIVES.indexOf(before.life.kind),
          `${before.life.kind} -> ${record.life.kind}`,
        );
        if (before.life.kind === "terminating" && record.life.kind === "terminating") {
          assert(record.life.graceSeconds <= before.life.graceSeconds);
          if (before.life.asked && record.life.asked)
            assert(record.life.killBy <= before.life.killBy);
        }
        if (before.life.kind === "terminating" && record.life.kind === "terminated")
          assert.equal(record.sync.freshness, "fresh");
      });
    }),
    { numRuns: 2000 },
  );
});

test("checkEdge: life only moves forward, one step at a time, and the error names pod and edge", () => {
  const lives: readonly PodLife[] = [
    { kind: "waiting" },
    { kind: "running" },
    { kind: "terminating", cause: { kind: "deleted" }, graceSeconds: 30, killBy: at(1) },
    { kind: "terminated", cause: { kind: "deleted" } },
    { kind: "released" },
  ];
  const allowed: string[] = [];
  for (const from of lives)
    for (const to of lives) {
      const next = aRecord({}, { life: to });
      try {
        assert.equal(checkEdge(aRecord({}, { life: from }), next), next);
        if (from.kind !== to.kind) allowed.push(`${from.kind} -> ${to.kind}`);
      } catch (error) {
        assert.ok(error instanceof InvariantError, String(error));
        const message = `the life of pod web_default(uid-1) cannot go from ${from.kind} to ${to.kind}`;
        assert.equal(error.message, message);
      }
    }
  assert.deepEqual(allowed, [
    "waiting -> running",
    "waiting -> terminating",
    "running -> terminating",
    "terminating -> terminated",
    "terminated -> released",
  ]);
});
