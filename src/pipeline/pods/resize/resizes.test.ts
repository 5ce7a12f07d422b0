import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../../test/sim/sim-clock.ts";
import { aContainer, aPod, aRecord } from "../../../../test/support/pods.ts";
import type { PodUid } from "../../../api/observation.ts";
import type { ResizeVerdict } from "../../../api/pod/allocation.ts";
import { withAllocation } from "../../../api/pod/allocation.ts";
import { OutsideError } from "../../../kit/errors.ts";
import { silentLog } from "../../../kit/log.ts";
import { createSeededRandom } from "../../../kit/random.ts";
import type { PodPorts, PodResizePort } from "../ports.ts";
import { asSpecified, type PodRecord } from "../record.ts";
import { transition } from "../transition.ts";
import { Resizes } from "./resizes.ts";

const MINUTES_MS = 60_000;
const NO_ROOM: ResizeVerdict = { kind: "deferred", rule: "resources", message: "no room" };
const NEVER: ResizeVerdict = { kind: "infeasible", rule: "capacity", message: "too large" };

const podOf = (uid: string, cpu: string, generation: number) => {
  const pod = aPod({ containers: [aContainer("a", { resources: { requests: { cpu } } })] });
  return { ...pod, metadata: { ...pod.metadata, name: uid, uid, generation } };
};

/** Records as the module keeps them, and what was asked of the ports. */
class Resizing {
  readonly clock = new SimClock();
  readonly records = new Map<PodUid, PodRecord>();
  readonly said: string[] = [];
  readonly asked: string[] = [];
  verdict: ResizeVerdict = { kind: "fits" };
  fault: OutsideError | undefined;
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
    const ports = {
      resizes,
      events: { record: (_, { reason }) => this.said.push(reason) },
      decisions: { decide: (_, { kind }) => this.said.push(kind) },
    } as Partial<PodPorts> as PodPorts;
    this.resizes = new Resizes({
      clock: this.clock,
      random: createSeededRandom(1),
      log: silentLog,
      ports,
      get: (uid) => this.records.get(uid),
      holders: () => [],
      post: (uid, signal) => this.tell(uid, signal),
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
    this.tell(uid, { kind: "desired", pod: podOf(uid, cpu, generation) });
  }

  tell(uid: string, signal: Parameters<typeof transition>[1]): void {
    const before = this.records.get(uid as PodUid);
    assert(before);
    const now = transition(before, signal, this.clock.monotonic());
    this.records.set(now.uid, now);
    this.resizes.notice(now);
  }

  async settle(): Promise<readonly string[]> {
    await this.clock.advance(1);
    return this.said.splice(0);
  }
}

test("a resize is judged once sources were seen, allocated, and applied", async () => {
  const room = new Resizing();
  room.add("p");
  room.request("p", "2", 2);
  assert.deepEqual(await room.settle(), []);
  room.resizes.open();
  assert.deepEqual(await room.settle(), ["allocateResize", "ResizeStarted"]);
  const record = room.records.get("p" as PodUid);
  assert.equal(record?.pod, record?.desired);
  assert.deepEqual(record?.resize.inProgress, { generation: 2 });
});

test("what does not fit is said once, and asked again when room may have come free", async () => {
  const room = new Resizing();
  room.resizes.open();
  for (const uid of ["b", "a", "other"]) room.add(uid);
  room.verdict = NO_ROOM;
  room.request("b", "2", 2);
  room.request("a", "2", 2);
  assert.deepEqual(await room.settle(), [
    "deferResize",
    "ResizeDeferred",
    "deferResize",
    "ResizeDeferred",
  ]);
  const pending = room.records.get("a" as PodUid)?.resize.pending;
  assert.deepEqual(
    [pending?.reason, pending?.message, pending?.generation],
    ["Deferred", "no room", 2],
  );
  room.asked.length = 0;
  room.tell("other", { kind: "tick" });
  await room.settle();
  assert.deepEqual(room.asked, [], "nothing has changed");
  room.tell("other", { kind: "terminate", cause: { kind: "deleted" } });
  assert.deepEqual(await room.settle(), [], "the same words are not said again");
  assert.deepEqual(room.asked, ["a", "b"]);
  room.verdict = { kind: "fits" };
  await room.clock.advance(3 * MINUTES_MS);
  assert.deepEqual(await room.settle(), [
    "allocateResize",
    "ResizeStarted",
    "allocateResize",
    "ResizeStarted",
  ]);
  assert.equal(room.records.get("a" as PodUid)?.resize.pending, undefined);
});

test("an infeasible resize is not retried, another request is", async () => {
  const room = new Resizing();
  room.resizes.open();
  room.add("p");
  room.verdict = NEVER;
  room.request("p", "200", 2);
  assert.deepEqual(await room.settle(), ["refuseResize", "ResizeInfeasible"]);
  await room.clock.advance(10 * MINUTES_MS);
  assert.deepEqual(room.asked, ["p"]);
  room.request("p", "200000m", 3);
  assert.deepEqual(await room.settle(), ["refuseResize", "ResizeInfeasible"]);
  const { pending } = room.records.get("p" as PodUid)?.resize ?? {};
  assert.equal(pending?.generation, 3, "the condition names the generation it answers");
  room.request("p", "1", 4);
  assert.deepEqual(await room.settle(), []);
  assert.equal(room.records.get("p" as PodUid)?.resize.pending, undefined, "it wants what it has");
  room.verdict = { kind: "fits" };
  room.request("p", "2", 5);
  assert.deepEqual(await room.settle(), ["allocateResize", "ResizeStarted"]);
});

test("what cannot be written down is tried again", async () => {
  const room = new Resizing();
  room.resizes.open();
  room.add("p");
  room.fault = new OutsideError("io", "disk full");
  room.request("p", "2", 2);
  assert.deepEqual(await room.settle(), []);
  const before = room.records.get("p" as PodUid);
  assert.notEqual(before?.pod, before?.desired);
  room.fault = undefined;
  await room.clock.advance(3 * MINUTES_MS);
  assert.deepEqual(await room.settle(), ["allocateResize", "ResizeStarted"]);
});

test("transition: a requested resize keeps the allocation, whatever else of the pod changes", () => {
  const given = aRecord({ pod: podOf("p", "1", 1) });
  const requested = podOf("p", "2", 2);
  const labelled = { ...requested, metadata: { ...requested.metadata, labels: { a: "b" } } };
  const now = transition(given, { kind: "desired", pod: labelled }, given.actedAt);
  assert.deepEqual(now.pod.metadata?.labels, { a: "b" });
  assert.deepEqual(now.pod.spec, withAllocation(labelled, given.resize.actuated).spec);
  assert.equal(now.desired, labelled);
});
