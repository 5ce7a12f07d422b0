import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ProbeKind, ProbeResult } from "../../api/probe-result.ts";
import type { WallMs } from "../../kit/clock.ts";
import {
  conclude,
  consider,
  NEW_WORKER,
  needsTrigger,
  type ProbeFacts,
  type ProbeRules,
  type WorkerState,
} from "./verdict.ts";
import { AGENT_STARTED, adopted, at, facts, rules } from "./verdict.vectors.ts";

interface Vector {
  readonly name: string;
  readonly kind: ProbeKind;
  readonly facts?: Partial<ProbeFacts>;
  readonly rules?: Partial<ProbeRules>;
  readonly state?: WorkerState;
  readonly seconds?: number;
  readonly step: string;
  readonly publish?: readonly ProbeResult[];
}

const held: WorkerState = { ...adopted("liveness"), verdict: "failure", onHold: true };

const VECTORS: readonly Vector[] = [
  {
    name: "no container yet",
    kind: "liveness",
    facts: { containerId: undefined },
    step: "no container",
  },
  {
    name: "the pod has ended",
    kind: "readiness",
    facts: { podEnded: true },
    step: "pod has ended",
  },
  {
    name: "the pod has ended without a container",
    kind: "liveness",
    facts: { podEnded: true, containerId: undefined },
    step: "pod has ended",
  },
  { name: "a new container for liveness", kind: "liveness", step: "probe", publish: ["success"] },
  { name: "a new container for readiness", kind: "readiness", step: "probe", publish: ["failure"] },
  {
    name: "a new container for startup",
    kind: "startup",
    facts: { started: false },
    step: "probe",
    publish: ["unknown"],
  },
  {
    name: "on hold",
    kind: "liveness",
    state: held,
    step: "on hold until the container is replaced",
  },
  {
    name: "on hold even when it stopped",
    kind: "liveness",
    state: held,
    facts: { running: false },
    step: "on hold until the container is replaced",
  },
  {
    name: "a replacement ends the hold",
    kind: "liveness",
    state: held,
    facts: { containerId: "c2" },
    step: "probe",
    publish: ["success"],
  },
  {
    name: "not running, comes back",
    kind: "readiness",
    facts: { running: false },
    step: "container is not running",
    publish: ["failure"],
  },
  {
    name: "liveness not running, comes back",
    kind: "liveness",
    facts: { running: false },
    step: "container is not running",
    publish: ["success"],
  },
  {
    name: "startup not running, comes back",
    kind: "startup",
    facts: { running: false, started: false },
    step: "container is not running",
    publish: ["unknown"],
  },
  {
    name: "not running for good",
    kind: "liveness",
    facts: { running: false, comesBack: false },
    step: "container will not come back",
    publish: ["success"],
  },
  {
    name: "ready until it stopped",
    kind: "readiness",
    state: { ...adopted("readiness"), verdict: "success" },
    facts: { running: false },
    step: "container is not running",
    publish: ["failure"],
  },
  {
    name: "ending, liveness",
    kind: "liveness",
    state: { ...adopted("liveness"), verdict: "failure" },
    facts: { podEnding: true },
    step: "pod is being ended",
    publish: ["success"],
  },
  {
    name: "ending, startup",
    kind: "startup",
    state: adopted("startup"),
    facts: { podEnding: true, started: false },
    step: "pod is being ended",
    publish: ["success"],
  },
  {
    name: "ending, readiness goes on",
    kind: "readiness",
    state: adopted("readiness"),
    facts: { podEnding: true },
    step: "probe",
  },
  {
    name: "a hair before the delay",
    kind: "liveness",
    rules: { initialDelaySeconds: 15 },
    state: adopted("liveness"),
    seconds: 14.999,
    step: "within the initial delay",
  },
  {
    name: "just at the delay",
    kind: "liveness",
    rules: { initialDelaySeconds: 15 },
    state: adopted("liveness"),
    seconds: 15,
    step: "probe",
  },
  {
    name: "the delay holds back startup too",
    kind: "startup",
    rules: { initialDelaySeconds: 5 },
    state: adopted("startup"),
    facts: { started: false },
    seconds: 4,
    step: "within the initial delay",
  },
  {
    name: "startup rests when started",
    kind: "startup",
    state: adopted("startup"),
    step: "container has started",
  },
  {
    name: "liveness waits for startup",
    kind: "liveness",
    state: adopted("liveness"),
    facts: { started: false },
    step: "container has not started yet",
  },
  {
    name: "readiness waits for startup",
    kind: "readiness",
    state: adopted("readiness"),
    facts: { started: false },
    step: "container has not started yet",
  },
  // Restart of the agent: what was found out before holds until a probe says otherwise.
  { name: "ready before the agent", kind: "readiness", facts: { confirmed: true }, step: "probe" },
  {
    name: "ready before the agent, but no longer running",
    kind: "readiness",
    facts: { confirmed: true, running: false },
    step: "container is not running",
    publish: ["failure"],
  },
  {
    name: "started before the agent",
    kind: "startup",
    facts: { confirmed: true },
    step: "container has started",
  },
];

for (const vector of VECTORS) {
  test(`consider: ${vector.name}`, () => {
    const result = consider(
      rules(vector.kind, vector.rules),
      vector.state ?? NEW_WORKER,
      facts(vector.facts),
      at(vector.seconds ?? 0),
    );
    assert.equal(result.step.kind === "probe" ? "probe" : result.step.why, vector.step);
    assert.deepEqual(result.publish, vector.publish ?? []);
  });
}

test("consider: the time before a container ran does not count to its delay", () => {
  const delayed = rules("liveness", { initialDelaySeconds: 15 });
  const created = facts({ running: false, startedAtMs: undefined });
  const { state } = consider(delayed, NEW_WORKER, created, at(-60));
  const { step } = consider(delayed, state, facts(), at(10));
  assert.deepEqual(step, { kind: "wait", why: "within the initial delay" });
});

test("consider: a wall clock that was set back does not hold up the first probe", () => {
  const delayed = rules("liveness", { initialDelaySeconds: 15 });
  const { state } = consider(delayed, NEW_WORKER, facts(), at(0));
  const later = { ...at(15), wall: (AGENT_STARTED - 3_600_000) as WallMs };
  assert.equal(consider(delayed, state, facts(), later).step.kind, "probe");
});

const kinds = fc.constantFrom<ProbeKind>("liveness", "readiness", "startup");
test("consider: whatever the facts, nothing on hold probes, and only changes are published", () => {
  const anyFacts = fc.record({
    podEnded: fc.boolean(),
    podEnding: fc.boolean(),
    containerId: fc.constantFrom(undefined, "c1", "c2"),
    running: fc.boolean(),
    startedAtMs: fc.constantFrom(undefined, 1 as WallMs, (AGENT_STARTED + 60_000) as WallMs),
    started: fc.boolean(),
    confirmed: fc.boolean(),
    comesBack: fc.boolean(),
  });
  fc.assert(
    fc.property(
      kinds,
      fc.array(fc.tuple(anyFacts, fc.boolean()), { maxLength: 20 }),
      (kind, turns) => {
        let state = NEW_WORKER;
        for (const [i, [seen, isGood]] of turns.entries()) {
          const before = state;
          const turn = consider(rules(kind), before, seen, at(i));
          state = turn.state;
          const isSame = before.containerId === seen.containerId;
          let verdict = isSame ? before.verdict : undefined;
          for (const result of turn.publish) {
            assert.notEqual(result, verdict);
            verdict = result;
          }
          if (turn.step.kind !== "probe") continue;
          assert.ok(
            !state.onHold && seen.running && seen.containerId !== undefined && !seen.podEnded,
          );
          assert.equal(seen.started, kind !== "startup");
          state = conclude(rules(kind), state, isGood ? "success" : "failure").state;
        }
      },
    ),
  );
});

test("needsTrigger: only a readiness probe of a started container that is not known to be ready", () => {
  const ready: WorkerState = { ...adopted("readiness"), verdict: "success" };
  const triggers = (kind: ProbeKind, state: WorkerState, more: Partial<ProbeFacts> = {}) =>
    needsTrigger(rules(kind), state, facts(more));
  assert.equal(triggers("readiness", adopted("readiness")), true);
  assert.equal(triggers("readiness", NEW_WORKER), true);
  assert.equal(triggers("readiness", ready), false);
  assert.equal(triggers("readiness", ready, { containerId: "c2" }), true);
  assert.equal(triggers("readiness", NEW_WORKER, { started: false }), false);
  assert.equal(triggers("readiness", NEW_WORKER, { running: false }), false);
  assert.equal(triggers("readiness", NEW_WORKER, { podEnded: true }), false);
  assert.equal(triggers("readiness", NEW_WORKER, { containerId: undefined }), false);
  assert.equal(triggers("liveness", NEW_WORKER), false);
});
