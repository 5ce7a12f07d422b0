import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { aContainer, aPod, aRecord } from "../../../test/support/pods.ts";
import type { PodUid } from "../../api/observation.ts";
import { silentLog } from "../../kit/log.ts";
import { createSeededRandom } from "../../kit/random.ts";
import { Admissions } from "./admissions.ts";
import type { PodPorts } from "./ports.ts";
import type { PodRecord } from "./record/record.ts";
import { transition } from "./record/transition.ts";

const [LARGE, SMALL] = ["large", "small"] as const;

const waiting = (name: string): PodRecord => {
  const uid = name as PodUid;
  const pod = aPod({ containers: [aContainer("a")] });
  return aRecord(
    { pod: { ...pod, metadata: { ...pod.metadata, name, uid } } },
    { uid, life: { kind: "waiting" }, admission: { kind: "undecided" } },
  );
};

/** Admits in the order of the names; the large pod does not fit. Answers who was judged, beside whom. */
async function admitted(
  names: readonly string[],
  before: readonly PodRecord[] = [],
): Promise<readonly string[]> {
  const clock = new SimClock();
  const allocated = new Set<string>(before.map(({ uid }) => uid));
  const fresh = names.map((name) => waiting(name));
  const records = new Map([...before, ...fresh].map((record) => [record.uid, record]));
  const judged: string[] = [];
  const ports = {
    resizes: {
      isAllocated: (uid: string) => allocated.has(uid),
      admitted: ({ metadata }: PodRecord["pod"]) => void allocated.add(metadata.uid),
      forget: (uid: string) => void allocated.delete(uid),
    },
    devices: {
      grant: async () => ({ kind: "granted" }),
      resize: async () => ({ kind: "granted" }),
    },
    decisions: { record: () => 1, conclude: () => {} },
    events: { ofPod: () => {} },
  } as unknown as PodPorts;
  const admissions = new Admissions({
    clock,
    random: createSeededRandom(1),
    log: silentLog,
    ports,
    list: () => [...records.values()],
    get: (uid) => records.get(uid),
    post: (uid, signal) => {
      const before = records.get(uid);
      if (before) records.set(uid, transition(before, signal, clock.monotonic()));
    },
    admit: async ({ uid }, holders) => {
      judged.push([uid, ...holders.map((each) => each.uid)].join(" beside "));
      return uid === LARGE
        ? { kind: "reject", rule: "resources", reason: "OutOfcpu", message: "too large" }
        : { kind: "admit", rules: 1 };
    },
  });
  for (const name of names) admissions.queue(name as PodUid);
  await clock.advance(1);
  return judged;
}

test("Admissions: a pod that was given nothing counts for no other, waiting or refused", async () => {
  assert.deepEqual(await admitted([LARGE, SMALL]), [LARGE, SMALL]);
  assert.deepEqual(await admitted([SMALL, LARGE, "next"]), [
    SMALL,
    `${LARGE} beside ${SMALL}`,
    `next beside ${SMALL}`,
  ]);
});

test("Admissions: what no source names any more counts for no other, as long as it may take to end", async () => {
  const named = waiting("named");
  const orphan = waiting("orphan");
  const before = [
    named,
    { ...waiting("removed"), desired: { ...named.desired, removed: true } },
    { ...orphan, desired: { ...orphan.desired, source: "runtime" as const } },
  ];
  assert.deepEqual(await admitted([SMALL], before), [`${SMALL} beside named`]);
});
