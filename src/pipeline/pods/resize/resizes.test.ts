import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../../test/sim/sim-clock.ts";
import { aContainer, aPod, aRecord } from "../../../../test/support/pods.ts";
import type { PodUid } from "../../../api/observation.ts";
import type { ResizeVerdict } from "../../../api/pod/allocation.ts";
import { allocationOf, withAllocation } from "../../../api/pod/allocation.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import type { ResourceGrant } from "../../../api/resource-grant.ts";
import { OutsideError } from "../../../kit/errors.ts";
import { silentLog } from "../../../kit/log.ts";
import { createSeededRandom } from "../../../kit/random.ts";
import type { PodPorts, PodResizePort } from "../ports.ts";
import { asSpecified, type PodRecord } from "../record/record.ts";
import { transition } from "../record/transition.ts";
import { Resizes } from "./resizes.ts";

const MINUTES_MS = 60_000;
const INSUFFICIENT: ResizeVerdict = {
  kind: "deferred",
  rule: "resources",
  reason: "OutOfcpu",
  message: "not enough CPU",
};
const NEVER: ResizeVerdict = { kind: "infeasible", rule: "capacity", message: "too large" };

const podOf = (uid: string, cpu: string, generation: number) => {
  const pod = aPod({ containers: [aContainer("a", { resources: { requests: { cpu } } })] });
  return { ...pod, metadata: { ...pod.metadata, name: uid, uid: uid as PodUid, generation } };
};

/** Records as the module keeps them, and what was asked of the ports. */
class Resizing {
  readonly clock = new SimClock();
  readonly measured: string[] = [];
  readonly records = new Map<PodUid, PodRecord>();
  readonly reported: string[] = [];
  readonly asked: string[] = [];
  verdict: ResizeVerdict = { kind: "fits" };
  fault: OutsideError | undefined;
  /** What the managers of CPUs and memory say, and which CPUs they were asked for. */
  grant: ResourceGrant = { kind: "granted" };
  readonly granted: string[] = [];
  readonly resizes: Resizes;
  #turns: Promise<void> = Promise.resolve();

  constructor() {
    const resizes: Partial<PodResizePort> = {
      judge: ({ uid }) => {
        this.asked.push(uid);
        return this.verdict;
      },
      actuated: asSpecified,
      order: (waiting) => [...waiting].sort((a, b) => (a.uid < b.uid ? -1 : 1)),
      allocate: async () => {
        if (this.fault) throw this.fault;
      },
    };
    const cpuOf = ({ spec }: IdentifiedPod) => spec?.containers[0]?.resources?.requests?.["cpu"];
    const ports = {
      resizes,
      devices: {
        grant: async () => ({ kind: "granted" }),
        resize: async (before, pod) => {
          this.granted.push(`${cpuOf(before)} to ${cpuOf(pod)}`);
          return this.grant;
        },
      },
      events: { ofPod: (_, { reason }) => this.reported.push(reason) },
      decisions: { record: (_, { kind }) => this.reported.push(kind), conclude: () => {} },
      measures: {
        ...({} as PodPorts["measures"]),
        resizeRequested: ({ uid }) => void this.measured.push(`requested ${uid}`),
        resizeRefused: (rule) => void this.measured.push(`refused ${rule}`),
        resizeAccepted: (trigger) => void this.measured.push(`accepted ${trigger}`),
      },
    } as Partial<PodPorts> as PodPorts;
    this.resizes = new Resizes({
      clock: this.clock,
      random: createSeededRandom(1),
      log: silentLog,
      ports,
      get: (uid) => this.records.get(uid),
      holders: () => [],
      post: (uid, signal) => this.send(uid, signal),
      inTurn: (work) => {
        this.#turns = this.#turns.then(work);
      },
    });
  }

  /** The pod runs with one CPU. */
  add(uid: string): void {
    const record = aRecord({ pod: podOf(uid, "1", 1) }, { uid: uid as PodUid });
    this.records.set(record.uid, record);
    this.resizes.notice(record);
  }

  request(uid: string, cpu: string, generation: number): void {
    this.send(uid, { kind: "desired", pod: podOf(uid, cpu, generation) });
  }

  send(uid: string, signal: Parameters<typeof transition>[1]): void {
    const before = this.records.get(uid as PodUid);
    assert(before);
    const now = transition(before, signal, this.clock.monotonic());
    this.records.set(now.uid, now);
    this.resizes.notice(now);
  }

  async settle(): Promise<readonly string[]> {
    await this.clock.advance(1);
    return this.reported.splice(0);
  }
}

test("a resize is judged once sources were seen, allocated, and applied", async () => {
  const resizing = new Resizing();
  resizing.add("p");
  resizing.request("p", "2", 2);
  assert.deepEqual(await resizing.settle(), []);
  resizing.resizes.open();
  assert.deepEqual(await resizing.settle(), ["allocateResize", "ResizeStarted"]);
  const record = resizing.records.get("p" as PodUid);
  assert.deepEqual(record?.pod, record?.desired.pod);
  assert.equal(record?.resize.requested, undefined);
  assert.deepEqual(record?.resize.inProgress, { generation: 2 });
});

test("a pod that is not admitted asks for nothing, and its last update is judged once it runs", async () => {
  const resizing = new Resizing();
  resizing.resizes.open();
  const uid = "p" as PodUid;
  const waiting = aRecord(
    { pod: podOf(uid, "1", 1) },
    { uid, life: { kind: "waiting" }, admission: { kind: "undecided" } },
  );
  resizing.records.set(uid, waiting);
  resizing.resizes.notice(waiting);
  resizing.request(uid, "2", 2);
  resizing.request(uid, "3", 3);
  assert.deepEqual(await resizing.settle(), []);
  assert.deepEqual([resizing.asked, resizing.measured], [[], []]);
  resizing.send(uid, { kind: "admitted" });
  assert.deepEqual(await resizing.settle(), ["allocateResize", "ResizeStarted"]);
  const { pod, resize } = resizing.records.get(uid) ?? waiting;
  assert.equal(pod.spec?.containers[0]?.resources?.requests?.["cpu"], "3");
  assert.deepEqual(resize.inProgress, { generation: 3 });
});

test("a resize that does not fit is recorded once, and retried when resources may have become free", async () => {
  const resizing = new Resizing();
  resizing.resizes.open();
  for (const uid of ["b", "a", "other"]) resizing.add(uid);
  resizing.verdict = INSUFFICIENT;
  resizing.request("b", "2", 2);
  resizing.request("a", "2", 2);
  assert.deepEqual(await resizing.settle(), [
    "deferResize",
    "ResizeDeferred",
    "deferResize",
    "ResizeDeferred",
  ]);
  const pending = resizing.records.get("a" as PodUid)?.resize.pending;
  assert.deepEqual(
    [pending?.reason, pending?.message, pending?.generation],
    ["Deferred", "not enough CPU", 2],
  );
  resizing.asked.length = 0;
  resizing.send("other", { kind: "tick" });
  await resizing.settle();
  assert.deepEqual(resizing.asked, [], "nothing has changed");
  resizing.send("other", { kind: "terminate", cause: { kind: "deleted" } });
  assert.deepEqual(await resizing.settle(), [], "the same words are not reported again");
  assert.deepEqual(resizing.asked, ["a", "b"]);
  resizing.verdict = { kind: "fits" };
  await resizing.clock.advance(3 * MINUTES_MS);
  assert.deepEqual(await resizing.settle(), [
    "allocateResize",
    "ResizeStarted",
    "allocateResize",
    "ResizeStarted",
  ]);
  assert.equal(resizing.records.get("a" as PodUid)?.resize.pending, undefined);
  assert.deepEqual(resizing.measured, [
    "requested b",
    "requested a",
    "accepted periodic_retry",
    "accepted periodic_retry",
  ]);
});

test("another message changes the condition, and is no other event", async () => {
  const resizing = new Resizing();
  resizing.resizes.open();
  for (const uid of ["p", "other"]) resizing.add(uid);
  resizing.verdict = INSUFFICIENT;
  resizing.request("p", "2", 2);
  await resizing.settle();
  resizing.verdict = { ...INSUFFICIENT, message: "still not enough CPU" };
  resizing.send("other", { kind: "terminate", cause: { kind: "deleted" } });
  assert.deepEqual(await resizing.settle(), ["deferResize"]);
  assert.equal(
    resizing.records.get("p" as PodUid)?.resize.pending?.message,
    "still not enough CPU",
  );
});

test("a request of 0 where there was none asks for nothing", async () => {
  const resizing = new Resizing();
  resizing.resizes.open();
  const record = aRecord({ pod: podOf("p", "0", 1) }, { uid: "p" as PodUid });
  resizing.records.set(record.uid, record);
  resizing.resizes.notice(record);
  const { metadata } = podOf("p", "0", 2);
  resizing.send("p", { kind: "desired", pod: { ...aPod(), metadata } });
  assert.deepEqual(await resizing.settle(), []);
  assert.deepEqual(resizing.measured, []);
});

test("an infeasible resize is not retried, another request is", async () => {
  const resizing = new Resizing();
  resizing.resizes.open();
  resizing.add("p");
  resizing.verdict = NEVER;
  resizing.request("p", "200", 2);
  assert.deepEqual(await resizing.settle(), ["refuseResize", "ResizeInfeasible"]);
  await resizing.clock.advance(10 * MINUTES_MS);
  assert.deepEqual(resizing.asked, ["p"]);
  resizing.request("p", "200000m", 3);
  assert.deepEqual(await resizing.settle(), ["refuseResize", "ResizeInfeasible"]);
  const { pending } = resizing.records.get("p" as PodUid)?.resize ?? {};
  assert.equal(pending?.generation, 3, "the condition names the generation it answers");
  const refused = resizing.measured.filter((each) => each === "refused capacity");
  assert.equal(refused.length, 2);
  resizing.request("p", "1", 4);
  assert.deepEqual(await resizing.settle(), []);
  assert.equal(
    resizing.records.get("p" as PodUid)?.resize.pending,
    undefined,
    "it requests what it has",
  );
  resizing.verdict = { kind: "fits" };
  resizing.request("p", "2", 5);
  assert.deepEqual(await resizing.settle(), ["allocateResize", "ResizeStarted"]);
});

test("what cannot be written down is tried again", async () => {
  const resizing = new Resizing();
  resizing.resizes.open();
  resizing.add("p");
  resizing.fault = new OutsideError("io", "disk full");
  resizing.request("p", "2", 2);
  assert.deepEqual(await resizing.settle(), []);
  const before = resizing.records.get("p" as PodUid);
  assert.equal(before?.resize.requested?.generation, 2);
  resizing.fault = undefined;
  await resizing.clock.advance(3 * MINUTES_MS);
  assert.deepEqual(await resizing.settle(), ["allocateResize", "ResizeStarted"]);
});

test("transition: a requested resize keeps the allocation, whatever else of the pod changes", () => {
  const given = aRecord({ pod: podOf("p", "1", 1) });
  const requested = podOf("p", "2", 2);
  const labelled = { ...requested, metadata: { ...requested.metadata, labels: { a: "b" } } };
  const now = transition(given, { kind: "desired", pod: labelled }, given.sync.actedAt);
  assert.deepEqual(now.pod.metadata?.labels, { a: "b" });
  assert.deepEqual(now.pod.spec, withAllocation(labelled, given.resize.actuated).spec);
  assert.equal(now.desired.pod, labelled);
  assert.deepEqual(now.resize.requested, { allocation: allocationOf(labelled), generation: 2 });
});

test("transition: a resize is requested until it is given, or the pod asks for what it has", () => {
  const record = aRecord({ pod: podOf("p", "1", 1) });
  const desire = (cpu: string, generation: number) =>
    ({ kind: "desired", pod: podOf("p", cpu, generation) }) as const;
  const requested = transition(record, desire("2", 2), record.sync.actedAt);
  const given = (cpu: string, generation: number) =>
    transition(
      requested,
      {
        kind: "resized",
        allocation: allocationOf(podOf("p", cpu, generation)),
        generation,
        actuated: record.resize.actuated,
      },
      record.sync.actedAt,
    ).resize.requested;
  assert.equal(given("2", 2), undefined);
  assert.equal(given("1500m", 1)?.generation, 2, "another one was requested meanwhile");
  const back = transition(requested, desire("1000m", 3), record.sync.actedAt);
  assert.equal(back.resize.requested, undefined, "the same amount, spelled otherwise");
});

test("a resize for which there are no CPUs is deferred, and they are given back when it cannot be written down", async () => {
  const resizing = new Resizing();
  resizing.grant = { kind: "refused", reason: "TopologyAffinityError", message: "not there" };
  resizing.resizes.open();
  resizing.add("p");
  resizing.request("p", "2", 2);
  assert.deepEqual(await resizing.settle(), ["deferResize", "ResizeDeferred"]);
  assert.equal(resizing.records.get("p" as PodUid)?.resize.pending?.message, "not there");

  resizing.grant = { kind: "granted" };
  resizing.fault = new OutsideError("io", "no space left");
  resizing.request("p", "3", 3);
  assert.deepEqual(await resizing.settle(), []);
  assert.deepEqual(resizing.granted, ["1 to 2", "1 to 3", "3 to 1"]);
});
