import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { aPod, aRecord, wall } from "../../../test/support/pods.ts";
import { MetricsRegistry } from "../../kit/metrics.ts";
import { asSpecified, type PodRecord, type PodResize } from "../../pipeline/pods/record/record.ts";
import { exposeResizes, priorityBucket } from "./resize-metrics.ts";

for (const [priority, bucket] of [
  [2_000_001_000, "system-critical"],
  [2_000_000_000, "system-critical"],
  [1_999_999_999, "high"],
  [100_000, "high"],
  [99_999, "medium"],
  [1, "medium"],
  [0, "normal"],
  [undefined, "normal"],
  [-1, "low"],
  [-999, "low"],
  [-1000, "very-low"],
] as const)
  test(`priorityBucket: ${priority} is ${bucket}`, () =>
    assert.equal(priorityBucket({ spec: { containers: [], priority } as never }), bucket));

const ACTUATED = asSpecified(aPod());
const deferred = { reason: "Deferred", message: "", generation: 2, sinceMs: wall(0) } as const;

function aWorld() {
  const metrics = new MetricsRegistry();
  const clock = new SimClock();
  const listeners: ((record: PodRecord) => void)[] = [];
  let records: readonly PodRecord[] = [];
  const subscribe = (listener: (record: PodRecord) => void) => {
    listeners.push(listener);
    return () => {};
  };
  exposeResizes(metrics, { pods: { subscribe, list: () => records }, clock });
  return {
    clock,
    text: () => metrics.expose(),
    publish(...published: readonly PodRecord[]) {
      records = published;
      for (const record of published) for (const listener of listeners) listener(record);
    },
  };
}

const resized = (resize: Omit<PodResize, "actuated">, more: Partial<PodRecord> = {}) =>
  aRecord({}, { resize: { actuated: ACTUATED, ...resize }, ...more });

test("exposeResizes counts resizes that wait, by priority, and those that go on", () => {
  const { publish, text } = aWorld();
  publish(
    aRecord(),
    resized({ pending: deferred, inProgress: { generation: 1 } }),
    resized({ pending: deferred }),
    resized({ pending: { ...deferred, reason: "Infeasible" } }),
  );
  for (const line of [
    'kubelet_pod_pending_resizes{priority_bucket="normal",reason="deferred"} 2',
    'kubelet_pod_pending_resizes{priority_bucket="normal",reason="infeasible"} 1',
    "kubelet_pod_in_progress_resizes 1",
  ])
    assert.ok(text().includes(line), line);
  publish(aRecord());
  assert.doesNotMatch(text(), /^kubelet_pod_pending_resizes\{/m);
});

const ENDED = { life: { kind: "terminated", cause: { kind: "deleted" } } } as const;
/** What follows a Deferred resize, and how it counts. */
const RESOLUTIONS: readonly (readonly [
  after: Omit<PodResize, "actuated">,
  resolution: string,
  more?: Partial<PodRecord>,
])[] = [
  [{ inProgress: { generation: 2 } }, "accepted"],
  [{}, "reverted"],
  [{ inProgress: { generation: 1 } }, "reverted"],
  [{ pending: deferred }, "terminated", ENDED],
  [{ pending: { ...deferred, reason: "Infeasible" } }, "none"],
  [{ pending: { ...deferred, message: "still" } }, "none"],
];

for (const [after, resolution, more] of RESOLUTIONS)
  test(`a Deferred resize that is followed by ${JSON.stringify(after)} is ${resolution}`, async () => {
    const { clock, publish, text } = aWorld();
    await clock.advance(7_000);
    const pending = { ...deferred, sinceMs: clock.wall() };
    publish(resized({ pending, inProgress: { generation: 1 } }));
    await clock.advance(12_000);
    const now = resized(after, more);
    publish(now);
    publish(now);
    const found = [
      ...text().matchAll(
        /^kubelet_pod_deferred_resize_duration_seconds_(sum|count)\{(.*)\} (.+)$/gm,
      ),
    ].map(([, what, labels, value]) => `${what} ${labels} ${value}`);
    const labels = `priority_bucket="normal",resolution="${resolution}"`;
    const expected = resolution === "none" ? [] : [`sum ${labels} 12`, `count ${labels} 1`];
    assert.deepEqual(found.toSorted(), expected.toSorted());
  });
