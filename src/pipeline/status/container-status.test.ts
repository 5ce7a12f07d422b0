import assert from "node:assert/strict";
import { test } from "node:test";
import {
  aContainer,
  anAttempt,
  anEnd,
  aPod,
  aRecord,
  at,
  type RecordChanges,
} from "../../../test/support/pods.ts";
import type { ContainerStatus } from "../../api/generated/types.ts";
import type { PodRecord } from "../pods/record/record.ts";
import { standingsOf } from "../pods/record/standing.ts";
import { type ContainerStatusContext, containerStatuses } from "./container-status.ts";

const context = { previous: undefined, runtimeName: "containerd" };

const statuses = (record: PodRecord, more: Partial<ContainerStatusContext> = {}) =>
  containerStatuses(record, standingsOf(record), { ...context, ...more });

test("containerStatuses: termination messages share 12 KiB, characters stay whole", () => {
  const names = ["a", "b", "c"];
  const pod = aPod({ containers: names.map((name) => aContainer(name)), restartPolicy: "Never" });
  const long = "ä".repeat(4096 / 2);
  const ends = names.map((name) => anEnd(name, 1, { message: long }));
  const lengths = (count: number) => {
    const more = Array.from({ length: count - names.length }, (_, i) => aContainer(`i${i}`));
    const wide = { ...pod, spec: { ...pod.spec, initContainers: more } } as typeof pod;
    const record = aRecord({ pod: wide, containers: ends });
    return statuses(record).regular.map(({ state }) =>
      Buffer.byteLength(state?.terminated?.message ?? ""),
    );
  };
  assert.deepEqual(lengths(3), [4096, 4096, 4096]);
  assert.deepEqual(lengths(5), [2456, 2456, 2456]);
});

test("containerStatuses: an init container that the runtime forgot has ended well once others ran", () => {
  const pod = aPod({ initContainers: [aContainer("init")] });
  const of = (containers: ReturnType<typeof anAttempt>[]) =>
    statuses(aRecord({ pod, containers })).init[0];
  const gone = of([anAttempt("a")]);
  assert.equal(gone?.state?.terminated?.reason, "Completed");
  assert.equal(
    gone?.state?.terminated?.message,
    "Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally",
  );
  assert.equal(gone?.state?.terminated?.exitCode, 0);
  assert.equal(gone?.ready, true);
  const ran = { ...gone, state: { running: {} }, ready: false } as ContainerStatus;
  const previous = { initContainerStatuses: [ran] };
  const record = aRecord({ pod, containers: [anAttempt("a")] });
  const [unseen] = statuses(record, { previous }).init;
  assert.equal(unseen?.state?.terminated?.reason, "Completed", "its end was seen by nobody");
  assert.equal(of([])?.state?.waiting?.reason, "PodInitializing");
});

test("containerStatuses: one end is not shown as this one and the last", () => {
  const pod = aPod();
  const containers = [anEnd("a", 3)];
  const of = (record: ReturnType<typeof aRecord>, previous?: ContainerStatus) =>
    statuses(record, { previous: previous && { containerStatuses: [previous] } }).regular[0];
  const waits = { a: { reason: "CrashLoopBackOff", message: "back-off" } };
  const waiting = of(aRecord({ pod, containers }, { lastPlan: { waits } }));
  assert.equal(waiting?.lastState?.terminated?.exitCode, 3);
  const over = of(aRecord({ pod, containers }), waiting);
  assert.deepEqual([over?.state?.terminated?.exitCode, over?.lastState], [3, {}]);
  const next = anAttempt("a", { restartCount: 1 });
  const again = of(aRecord({ pod, containers: [next] }), waiting);
  assert.equal(again?.lastState?.terminated?.exitCode, 3);
});

const BACK_OFF = { reason: "CrashLoopBackOff", message: "back-off" };

for (const { name, record, containers, expected } of [
  {
    name: "not yet while it is started again: the wait before is shown",
    record: { sync: { freshness: "acting" }, lastPlan: { earlierWaits: { a: BACK_OFF } } },
    containers: [anAttempt("a", { id: "new", state: "created", restartCount: 4 }), anEnd("a", 3)],
    expected: ["CrashLoopBackOff", 0, "a-0", 3],
  },
  {
    name: "not yet when it is started for the first time",
    record: { sync: { freshness: "acting" } },
    containers: [anAttempt("a", { id: "new", state: "created" })],
    expected: ["ContainerCreating", 0, undefined, undefined],
  },
  {
    name: "once it could not be started",
    record: {
      sync: { freshness: "fresh" },
      retries: {
        failures: {
          a: { reason: "RunContainerError", message: "no", failures: 1, notBefore: at(9) },
        },
      },
    },
    containers: [
      anAttempt("a", { id: "new", state: "created", restartCount: 4 }),
      anEnd("a", 3, { restartCount: 3 }),
    ],
    expected: ["RunContainerError", 4, "new", 3],
  },
] satisfies readonly {
  readonly name: string;
  readonly record: RecordChanges;
  readonly containers: ReturnType<typeof anAttempt>[];
  readonly expected: readonly unknown[];
}[])
  test(`containerStatuses: a container that is created and not started is shown ${name}`, () => {
    const shown = (previous?: ContainerStatus, more: RecordChanges = record) => {
      const before = previous && { containerStatuses: [previous] };
      const [status] = statuses(aRecord({ containers }, more), { previous: before }).regular;
      assert.ok(status);
      return status;
    };
    const factsOf = ({ state, restartCount, containerID, lastState }: ContainerStatus) => [
      state?.waiting?.reason,
      restartCount,
      containerID?.split("//")[1],
      lastState?.terminated?.exitCode,
    ];
    const status = shown();
    assert.deepEqual(factsOf(status), expected);
    const later = shown(status, { ...record, sync: { freshness: "acting" } });
    assert.deepEqual(factsOf(later), expected, "and stays so while others are started");
  });

test("containerStatuses: what is stopped to be started again waits, whatever its policy", () => {
  for (const restartPolicy of ["Always", "OnFailure", "Never"]) {
    const pod = aPod({ restartPolicy });
    const of = (more: object, record: object = {}) =>
      statuses(aRecord({ pod, containers: [anEnd("a", 0, more)] }, record)).regular[0];
    const between = of({ replaced: true });
    assert.equal(between?.state?.waiting?.reason, "ContainerCreating", restartPolicy);
    assert.equal(between?.lastState?.terminated?.exitCode, 0);
    assert.deepEqual([between?.ready, between?.started, between?.restartCount], [false, false, 0]);
    const pulls = of({ replaced: true }, { lastPlan: { progress: { a: "pulling" } } });
    assert.equal(pulls?.state?.waiting?.message, "pulling");
    const waits = { a: { reason: "ErrImagePull", message: "no" } };
    assert.equal(
      of({ replaced: true }, { lastPlan: { waits } })?.state?.waiting?.reason,
      "ErrImagePull",
    );
    const life = { kind: "terminated", cause: { kind: "deleted" } };
    assert.equal(of({ replaced: true }, { life })?.state?.terminated?.exitCode, 0);
    assert.equal(of({})?.state?.terminated?.exitCode, 0);
  }
});

test("containerStatuses: how volumes are mounted, as long as it is known", () => {
  const volumeMounts = [
    { name: "data", mountPath: "/data" },
    { name: "token", mountPath: "/token", readOnly: true },
    { name: "tree", mountPath: "/tree", readOnly: true, recursiveReadOnly: "IfPossible" },
    { name: "must", mountPath: "/must", readOnly: true, recursiveReadOnly: "Enabled" },
  ];
  const pod = aPod({ containers: [{ ...aContainer("a"), volumeMounts }] });
  const of = (supported: boolean | undefined, previous?: ContainerStatus) => {
    const [status] = statuses(aRecord({ pod }), {
      previous: previous && { containerStatuses: [previous] },
      recursiveReadOnly: () => supported,
    }).regular;
    assert.ok(status);
    return status;
  };
  const shown = (mode: string) => [
    { name: "data", mountPath: "/data" },
    { name: "token", mountPath: "/token", readOnly: true, recursiveReadOnly: "Disabled" },
    { name: "tree", mountPath: "/tree", readOnly: true, recursiveReadOnly: mode },
    { name: "must", mountPath: "/must", readOnly: true, recursiveReadOnly: mode },
  ];
  assert.deepEqual(of(true).volumeMounts, shown("Enabled"));
  assert.deepEqual(of(false).volumeMounts, shown("Disabled"));
  assert.equal("volumeMounts" in of(undefined), false);
  assert.deepEqual(of(undefined, of(true)).volumeMounts, shown("Enabled"), "it does not change");
  assert.deepEqual(of(false, of(true)).volumeMounts, shown("Enabled"), "it does not change");
});
