import assert from "node:assert/strict";
import { test } from "node:test";
import {
  aContainer,
  aContext,
  anAttempt,
  aPod,
  aRecord,
  at,
} from "../../../../test/support/pods.ts";
import { asSpecified, type PodRecord } from "../record/record.ts";
import type { PodSignal, StepResult } from "../record/signals.ts";
import { transition } from "../record/transition.ts";
import type { StopRequest } from "./actions.ts";
import { planPod } from "./plan.ts";

const SIDE = aContainer("side", { restartPolicy: "Always" });
const POD = aPod({ initContainers: [SIDE] });
const CONTAINERS = [anAttempt("a"), anAttempt("side")];
const STOPPING = { kind: "acting", backoff: {}, touches: [], replaces: [], stops: true } as const;

const running = (): PodRecord => aRecord({ pod: POD, containers: CONTAINERS });
const terminate = (graceSeconds?: number): PodSignal => ({
  kind: "terminate",
  cause: { kind: "deleted" },
  ...(graceSeconds === undefined ? {} : { graceSeconds }),
});

/** A run of actions that ended at `ms` with this result, and what was seen then. */
function acted(record: PodRecord, ms: number, result?: Partial<StepResult>): PodRecord {
  const outcome = { kind: "failed", reason: "", message: "", retryInMs: 0 } as const;
  const results = result ? [{ step: "#teardown", outcome, ...result }] : [];
  const actuated = asSpecified(record.pod);
  const ended = transition(record, { kind: "acted", at: at(ms), results, actuated }, at(ms));
  const observed = { ...record.observed, asOf: at(ms) };
  return transition(ended, { kind: "observed", observed }, at(ms));
}

/** The stops that are planned at `ms`, in short: `a 30 preStop`. */
function stopsAt(record: PodRecord, ms: number, runtimeReady = true): readonly string[] {
  const { actions } = planPod(record, aContext({ now: at(ms), runtimeReady }));
  const inShort = ({ name, graceSeconds, preStop, after = [] }: StopRequest) =>
    [name, graceSeconds, ...(preStop ? ["preStop"] : []), ...after].join(" ");
  return actions.flatMap((each) => (each.kind === "stopContainers" ? each.stops.map(inShort) : []));
}

const WHOLE = ["a 30 preStop", "side 30 preStop a-0"];

test("planPod: a grace does not run out while the runtime is away and no container was asked to stop", () => {
  const ending = transition(running(), terminate(30), at(0));
  assert.deepEqual(stopsAt(ending, 1_000, false), []);
  assert.deepEqual(stopsAt(ending, 40_000), WHOLE);
});

test("planPod: once the containers were asked to stop, the grace runs", () => {
  const ending = transition(running(), terminate(30), at(0));
  const stopping = acted(transition(ending, STOPPING, at(40_000)), 50_000, {});
  assert.deepEqual(stopsAt(stopping, 50_000), ["a 20 preStop", "side 20 preStop a-0"]);
  assert.deepEqual(stopsAt(stopping, 70_000), ["a 0", "side 0"]);
  const again = acted(transition(stopping, STOPPING, at(50_000)), 60_000, {});
  assert.deepEqual(stopsAt(again, 60_000), ["a 10 preStop", "side 10 preStop a-0"]);
});

test("planPod: a stop that did not reach the runtime takes nothing from the grace", () => {
  const ending = transition(running(), terminate(30), at(0));
  const failed = acted(transition(ending, STOPPING, at(1_000)), 2_000, { unreached: true });
  assert.deepEqual(stopsAt(failed, 40_000), WHOLE);
});

test("planPod: the grace shrinks before and after the containers were asked to stop", () => {
  const ending = transition(running(), terminate(30), at(0));
  const shorter = transition(ending, terminate(5), at(40_000));
  assert.deepEqual(stopsAt(shorter, 41_000), ["a 5 preStop", "side 5 preStop a-0"]);
  assert.deepEqual(stopsAt(transition(shorter, terminate(20), at(41_000)), 42_000), [
    "a 5 preStop",
    "side 5 preStop a-0",
  ]);
  const stopping = acted(transition(ending, STOPPING, at(0)), 1_000);
  const cut = transition(stopping, terminate(10), at(2_000));
  assert.deepEqual(stopsAt(cut, 2_000), ["a 10 preStop", "side 10 preStop a-0"]);
});

test("planPod: what failed before the pod was to end, or had more time, does not delay its stop", () => {
  const stepFailure = { reason: "", message: "no", failures: 1, notBefore: at(15_000) };
  const stuck = { ...running(), retries: { backoff: {}, failures: { "#teardown": stepFailure } } };
  assert.deepEqual(stopsAt(transition(stuck, terminate(30), at(1_000)), 1_000), WHOLE);
  const ending = transition(running(), terminate(30), at(0));
  const outcome = { kind: "failed", reason: "", message: "", retryInMs: 15_000 } as const;
  const failed = acted(transition(ending, STOPPING, at(0)), 1_000, { outcome });
  assert.deepEqual(stopsAt(failed, 2_000), []);
  assert.deepEqual(stopsAt(transition(failed, terminate(3), at(2_000)), 2_000), [
    "a 3 preStop",
    "side 3 preStop a-0",
  ]);
});
