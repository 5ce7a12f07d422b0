import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../../test/sim/sim-clock.ts";
import {
  aContext,
  anAttempt,
  anEnd,
  aRecord,
  aSandbox,
  at,
  type Given,
  type RecordChanges,
} from "../../../../test/support/pods.ts";
import { OutsideError } from "../../../kit/errors.ts";
import { silentLog } from "../../../kit/log.ts";
import { createSeededRandom } from "../../../kit/random.ts";
import { planPod } from "../plan/plan.ts";
import type { PodPorts } from "../ports.ts";
import { asSpecified, type PodRecord } from "../record/record.ts";
import { transition } from "../record/transition.ts";
import { applyPlan } from "./apply.ts";
import { Attempts } from "./attempts.ts";

/** Plans for the pod at `nowMs` and has the plan carried out by this runtime; the record once it is known how that went. */
async function turn(
  runtime: Partial<PodPorts["runtime"]>,
  record: PodRecord,
  nowMs: number,
  more: Partial<PodPorts> = {},
): Promise<PodRecord> {
  const clock = new SimClock();
  const decisions = { record: () => 1, conclude: () => {} };
  const events: PodPorts["events"] = { ofPod: () => {} };
  const hooks: Partial<PodPorts["hooks"]> = { preStop: async () => 0 };
  const measures: Partial<PodPorts["measures"]> = { acted: () => {} };
  const prerequisites = { thawCgroup: async () => {} };
  const ports = {
    prerequisites,
    runtime,
    decisions,
    events,
    hooks,
    measures,
    ...more,
  } as unknown as PodPorts;
  const attempts = new Attempts(decisions, clock);
  const deps = { clock, random: createSeededRandom(1), log: silentLog, ports, attempts };
  const { actions } = planPod(record, aContext({ now: at(nowMs) }));
  const results = await applyPlan(record, actions, deps, new AbortController().signal);
  const actuated = asSpecified(record.pod);
  return transition(record, { kind: "acted", at: at(nowMs), results, actuated }, at(nowMs));
}

/** A container whose liveness probe failed, and that could not be stopped at first. */
const SICK: Given = { containers: [anAttempt("a")] };
const NOT_STOPPED: RecordChanges = {
  tracked: { probes: { a: { containerId: "a-0", liveness: "failure" } } },
};

test("applyPlan: a stop that works ends what a failed one had reported", async () => {
  let isBroken = true;
  const stopContainer = async () => {
    if (isBroken) throw new Error("no answer");
  };
  const stuck = await turn({ stopContainer }, aRecord(SICK, NOT_STOPPED), 0);
  assert.equal(stuck.retries.failures["#teardown"]?.reason, "KillContainerError");
  isBroken = false;
  const stopped = await turn({ stopContainer }, stuck, 60_000);
  assert.deepEqual(stopped.retries.failures, {});
});

test("applyPlan: containers count as asked to stop unless the runtime does not answer", async () => {
  const cause = { kind: "deleted" } as const;
  const life = {
    kind: "terminating",
    cause,
    graceSeconds: 30,
    killBy: at(0),
    asked: true,
  } as const;
  const ending = aRecord({ containers: [anAttempt("a")] }, { life });
  const refuse = async () => Promise.reject(new Error("no"));
  const beAway = async () => Promise.reject(new OutsideError("unavailable", "no connection"));
  assert.deepEqual((await turn({ stopContainer: refuse }, ending, 0)).life, life);
  const { asked: _, ...unasked } = life;
  assert.deepEqual((await turn({ stopContainer: beAway }, ending, 0)).life, unasked);
});

test("applyPlan: what cannot be removed ends no run, and pauses removals only", async () => {
  const ends = [2, 1, 0].map((restartCount) => anEnd("a", 1, { restartCount }));
  const containers = [anAttempt("a", { restartCount: 3 }), ...ends];
  const sandboxes = [aSandbox(), aSandbox({ id: "sb-1", ready: false, stopped: false })];
  const tried: string[] = [];
  const removeContainer = async ({ id }: { readonly id: string }) => {
    tried.push(id);
    if (id === "a-1") throw new Error("device or resource busy");
  };
  const note = async (_: unknown, id: unknown) => void tried.push(String(id));
  const runtime = { removeContainer, removeSandbox: note, stopSandbox: async () => {} };
  const record = await turn(runtime, aRecord({ sandboxes, containers }, NOT_STOPPED), 0);
  assert.deepEqual(tried, ["sb-1", "a-1", "a-0"]);
  assert.deepEqual(Object.keys(record.retries.failures), ["#cleanup"]);
});

test("applyPlan: what a pod has is noted once all its volumes are there, before its first container", async () => {
  const steps: string[] = [];
  let isBroken = true;
  const ports = {
    prerequisites: {
      mountVolumes: async () => {
        if (isBroken) throw new Error("no such volume");
        steps.push("mounted");
      },
    },
    resizes: {
      prepared: () => void steps.push("prepared"),
      starting: async () => void steps.push("starting"),
    },
    images: { ensure: async () => ({ kind: "present", image: {}, release: () => {} }) },
  } as unknown as Partial<PodPorts>;
  const createAttempt = async () => {
    steps.push("container refused");
    throw new Error("no");
  };
  const prerequisites = { directories: "present", cgroup: "present", volumes: "absent" } as const;
  const stuck = await turn({ createAttempt }, aRecord({}, { prerequisites }), 0, ports);
  assert.deepEqual(steps, [], "not without its volumes");
  isBroken = false;
  const fresh = { ...stuck, sync: { ...stuck.sync, freshness: "fresh" } } as const;
  await turn({ createAttempt }, fresh, 600_000, ports);
  assert.deepEqual(steps, ["mounted", "prepared", "starting", "container refused"]);
});
