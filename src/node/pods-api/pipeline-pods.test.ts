import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodUid } from "../../api/observation.ts";
import { pipelinePods } from "./pipeline-pods.ts";
import { followPods, type ServedChange } from "./pod-watchers.ts";

type Pipeline = Parameters<typeof pipelinePods>[0];
type PodRecord = ReturnType<Pipeline["pods"]["list"]>[number];
type PodStatus = NonNullable<ReturnType<Pipeline["statuses"]["get"]>>["status"];

const uid = "u" as PodUid;

function podRecord(
  desired: Partial<PodRecord["desired"]> = {},
  life: PodRecord["life"] = { kind: "running" },
): PodRecord {
  const pod = { metadata: { name: "p", namespace: "n", uid } };
  return {
    uid,
    pod,
    life,
    desired: { pod, source: "api", removed: false, ...desired },
  } as PodRecord;
}

/** A pipeline with one pod at most. */
class OnePod implements Pipeline {
  record: PodRecord | undefined;
  status: PodStatus | undefined;
  #onRecord: (record: PodRecord) => void = () => {};
  #onStatus: (uid: PodUid) => void = () => {};

  readonly pods: Pipeline["pods"] = {
    list: () => (this.record ? [this.record] : []),
    get: () => this.record,
    subscribe: (onRecord) => {
      this.#onRecord = onRecord;
      return () => {};
    },
  };
  readonly statuses = {
    get: () => this.status && { uid, pod: podRecord().pod, status: this.status, ended: false },
    subscribe: (sink: (uid: PodUid, now: undefined) => void) => {
      this.#onStatus = (changed) => sink(changed, undefined);
      return () => {};
    },
  };

  set(record: PodRecord, status?: PodStatus): void {
    this.record = record;
    this.status = status;
    this.#onRecord(record);
  }

  setStatus(status: PodStatus): void {
    this.status = status;
    this.#onStatus(uid);
  }
}

const RECORDS: readonly (readonly [string, PodRecord, boolean])[] = [
  ["a pod of the API", podRecord(), true],
  ["a static pod", podRecord({ source: "file" }), true],
  [
    "a pod that has ended",
    podRecord({}, { kind: "terminated", cause: { kind: "completed" } }),
    true,
  ],
  ["a pod that only runs", podRecord({ source: "runtime" }), false],
  ["a pod that is being taken away", podRecord({ removed: true }), false],
  ["a pod of which nothing is left", podRecord({}, { kind: "released" }), false],
];

for (const [name, record, isShown] of RECORDS)
  test(`pipelinePods: ${name} is ${isShown ? "" : "not "}shown`, () => {
    const pipeline = new OnePod();
    pipeline.set(record, { phase: "Running" });
    const expected = isShown ? [{ pod: record.desired.pod, status: { phase: "Running" } }] : [];
    assert.deepEqual(pipelinePods(pipeline).list(), expected);
    assert.deepEqual(pipelinePods(pipeline).get(uid), expected[0]);
  });

test("followPods: a change of pod or status is said once, and what changes neither is not", () => {
  const pipeline = new OnePod();
  const changes: ServedChange["kind"][] = [];
  const said = () => changes.splice(0);
  followPods(pipelinePods(pipeline), ({ kind }) => void changes.push(kind));
  const status = { phase: "Running" };
  const record = podRecord();
  pipeline.set(record, status);
  assert.deepEqual(said(), ["added"]);
  pipeline.set({ ...record, life: { kind: "waiting" } }, status);
  assert.deepEqual(said(), []);
  pipeline.setStatus({ phase: "Failed" });
  assert.deepEqual(said(), ["modified"]);
  pipeline.set(podRecord({ pod: { ...record.pod } }), pipeline.status);
  assert.deepEqual(said(), ["modified"]);
  pipeline.set(podRecord({ removed: true }), pipeline.status);
  pipeline.set(podRecord({}, { kind: "released" }));
  assert.deepEqual(said(), ["deleted"]);
});

test("followPods: what was there before is not said to be new", () => {
  const pipeline = new OnePod();
  pipeline.set(podRecord(), { phase: "Running" });
  const changes: ServedChange["kind"][] = [];
  followPods(pipelinePods(pipeline), ({ kind }) => void changes.push(kind));
  pipeline.setStatus({ phase: "Failed" });
  assert.deepEqual(changes, ["modified"]);
});
