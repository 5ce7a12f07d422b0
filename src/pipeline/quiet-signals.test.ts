import assert from "node:assert/strict";
import { test } from "node:test";
import {
  aContainer,
  aContext,
  anAttempt,
  aPod,
  aRecord,
  at,
  WALL,
} from "../../test/support/pods.ts";
import type { Probe } from "../api/generated/types.ts";
import type { ProbeKind, ProbeResult } from "../api/probe-result.ts";
import { planPod } from "./pods/plan/plan.ts";
import { probeTargets } from "./pods/record/probe-targets.ts";
import { asSpecified, type PodRecord } from "./pods/record/record.ts";
import { isQuiet, type PodSignal, type StepResult } from "./pods/record/signals.ts";
import { transition } from "./pods/record/transition.ts";
import { deriveStatus } from "./status/derive.ts";

const PROBE: Probe = { tcpSocket: { port: 80 }, failureThreshold: 1 };
const pod = aPod({
  containers: [
    aContainer("a", { livenessProbe: PROBE, readinessProbe: PROBE, startupProbe: PROBE }),
  ],
});
const RUNNING = anAttempt("a");

/** All that follows from a record and is seen outside of it. */
function visible(record: PodRecord): unknown {
  const context = { previous: undefined, runtimeName: "containerd", now: WALL, hostIps: [] };
  return [
    deriveStatus(record, context),
    planPod(record, aContext()),
    probeTargets(record, "10.0.0.1"),
  ];
}

const KINDS: readonly ProbeKind[] = ["liveness", "readiness", "startup"];
const RESULTS: readonly ProbeResult[] = ["success", "failure", "unknown"];

for (const probe of KINDS)
  for (const before of [undefined, ...RESULTS])
    test(`isQuiet: of ${probe} after ${before ?? "nothing"} exactly what changes nothing`, () => {
      const verdicts = { containerId: RUNNING.id, ...(before ? { [probe]: before } : {}) };
      const record = aRecord(
        { pod, containers: [RUNNING] },
        { tracked: { probes: { a: verdicts } } },
      );
      const quiet = RESULTS.filter((result) => {
        const signal = {
          kind: "probed",
          container: "a",
          containerId: RUNNING.id,
          probe,
          result,
        } as const;
        if (!isQuiet(record, signal)) return false;
        assert.deepEqual(visible(transition(record, signal, at(1))), visible(record));
        return true;
      });
      const initial = { liveness: "success", readiness: "failure", startup: "unknown" } as const;
      assert.deepEqual(quiet, [before ?? initial[probe]]);
    });

test("isQuiet: a new attempt begins with what counts before its first result, whatever the one before it had", () => {
  const verdicts = { containerId: "earlier", readiness: "success" } as const;
  const record = aRecord({ pod, containers: [RUNNING] }, { tracked: { probes: { a: verdicts } } });
  const signal = {
    kind: "probed",
    container: "a",
    containerId: RUNNING.id,
    probe: "readiness",
  } as const;
  assert.equal(isQuiet(record, { ...signal, result: "failure" }), true);
  assert.equal(isQuiet(record, { ...signal, result: "success" }), false);
});

const DONE: StepResult = { step: "a", outcome: { kind: "done" } };
const FAILED: StepResult = {
  step: "a",
  outcome: { kind: "failed", reason: "ErrImagePull", message: "no", retryInMs: 1 },
};

test("isQuiet: what was done waits for its observation, a failure does not", () => {
  const record = aRecord({ pod }, { sync: { freshness: "acting" } });
  const acted = (results: readonly StepResult[]): PodSignal => ({
    kind: "acted",
    at: at(1),
    results,
    actuated: asSpecified(pod),
  });
  assert.equal(isQuiet(record, acted([DONE, DONE])), true);
  assert.equal(isQuiet(record, acted([DONE, FAILED])), false);
  assert.equal(isQuiet(record, acted([{ step: "a", outcome: { kind: "abandoned" } }])), false);
  assert.equal(isQuiet(record, acted([{ ...DONE, unreached: true }])), false);
  const resizing = { ...record, resize: { ...record.resize, inProgress: { generation: 2 } } };
  assert.equal(isQuiet(resizing, acted([DONE])), false);
});

test("isQuiet: every other signal is worth a turn", () => {
  assert.equal(isQuiet(aRecord(), { kind: "tick" }), false);
  assert.equal(isQuiet(aRecord(), { kind: "admitted" }), false);
});
