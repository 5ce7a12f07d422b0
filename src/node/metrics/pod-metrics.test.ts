import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod, aRecord, at, wall } from "../../../test/support/pods.ts";
import type { PodUid } from "../../api/observation.ts";
import { MetricsRegistry } from "../../kit/metrics.ts";
import { asSpecified, type PodRecord } from "../../pipeline/pods/record/record.ts";
import { countedReason, exposePods } from "./pod-metrics.ts";

for (const [reason, counted] of [
  ["OutOfcpu", "OutOfcpu"],
  ["OutOfpods", "OutOfpods"],
  ["OutOfexample.com/gpu", "OutOfExtendedResources"],
  ["SysctlForbidden", "SysctlForbidden"],
  ["because", "Other"],
] as const)
  test(`countedReason: ${reason} is ${counted}`, () =>
    assert.equal(countedReason(reason), counted));

test("exposePods counts a rejection once, however often it is published", () => {
  const metrics = new MetricsRegistry();
  const listeners: ((record: PodRecord) => void)[] = [];
  const subscribe = (listener: (record: PodRecord) => void) => {
    listeners.push(listener);
    return () => {};
  };
  exposePods(metrics, { pods: { subscribe, list: () => [], successors: () => [] } });
  const admission = { kind: "rejected", reason: "OutOfpods", message: "" } as const;
  const notify = (record: PodRecord) => listeners.forEach((listener) => void listener(record));
  notify(aRecord());
  const refused = aRecord({}, { admission });
  for (const record of [refused, refused, { ...refused, uid: "uid-2" as typeof refused.uid }])
    notify(record);
  const line = 'kubelet_admission_rejections_total{reason="OutOfpods"} ';
  assert.ok(metrics.expose().includes(`${line}2`));
  notify({ ...refused, life: { kind: "released" } });
  notify(refused);
  assert.ok(metrics.expose().includes(`${line}3`));
});

test("exposePods counts resizes that wait and that go on", () => {
  const metrics = new MetricsRegistry();
  const actuated = asSpecified(aPod());
  const pending = { reason: "Deferred", message: "", generation: 2, sinceMs: wall(0) } as const;
  const list = () => [
    aRecord(),
    aRecord({}, { resize: { actuated, pending, inProgress: { generation: 1 } } }),
    aRecord({}, { resize: { actuated, pending } }),
  ];
  exposePods(metrics, { pods: { subscribe: () => () => {}, list, successors: () => [] } });
  for (const line of [
    'kubelet_pod_pending_resizes{reason="deferred"} 2',
    'kubelet_pod_pending_resizes{reason="infeasible"} 0',
    "kubelet_pod_in_progress_resizes 1",
  ])
    assert.ok(metrics.expose().includes(line), line);
});

test("exposePods counts pods that are desired, active and worked on, with the Go kubelet's labels", () => {
  const metrics = new MetricsRegistry();
  const cause = { kind: "deleted" } as const;
  const ending = { kind: "terminating", cause, graceSeconds: 1, killBy: at(1) } as const;
  const ended = { kind: "terminated", cause } as const;
  const list = () => [
    aRecord({}, { desired: { source: "api" } }),
    aRecord({}, { desired: { source: "api" }, life: ending }),
    aRecord({}, { desired: { source: "api" }, life: ended }),
    aRecord({}, { desired: { source: "api", removed: true }, life: ending }),
    aRecord({}, { desired: { source: "file" } }),
    aRecord({}, { desired: { source: "http", removed: true }, life: ended }),
    aRecord({}, { desired: { source: "runtime" }, life: ending }),
  ];
  const successors = () => [aRecord()];
  const mirrors = () => 4;
  exposePods(metrics, { pods: { subscribe: () => () => {}, list, successors }, mirrors });
  const page = metrics.expose();
  for (const [line, value] of [
    ['kubelet_desired_pods{static=""}', 3],
    ['kubelet_desired_pods{static="true"}', 2],
    ["kubelet_mirror_pods", 4],
    ['kubelet_active_pods{static=""}', 2],
    ['kubelet_active_pods{static="true"}', 1],
    ['kubelet_working_pods{config="desired",lifecycle="sync",static=""}', 1],
    ['kubelet_working_pods{config="desired",lifecycle="sync",static="true"}', 1],
    ['kubelet_working_pods{config="desired",lifecycle="terminating",static=""}', 1],
    ['kubelet_working_pods{config="desired",lifecycle="terminating",static="true"}', 0],
    ['kubelet_working_pods{config="desired",lifecycle="terminated",static=""}', 1],
    ['kubelet_working_pods{config="orphan",lifecycle="terminating",static=""}', 1],
    ['kubelet_working_pods{config="orphan",lifecycle="terminated",static="true"}', 1],
    ['kubelet_working_pods{config="runtime_only",lifecycle="terminating",static="unknown"}', 1],
    ['kubelet_working_pods{config="runtime_only",lifecycle="terminated",static="unknown"}', 0],
    ['kubelet_working_pods{config="runtime_only",lifecycle="sync",static="unknown"}', 0],
    ['kubelet_working_pods{config="orphan",lifecycle="sync",static=""}', 0],
    ['kubelet_working_pods{config="orphan",lifecycle="sync",static="true"}', 0],
  ] as const)
    assert.ok(page.includes(`${line} ${value}\n`), `${line} ${value}\n${page}`);
  assert.equal(page.match(/^kubelet_working_pods\{/gm)?.length, 15);
});

test("exposePods counts containers once for each pod, and ephemeral ones as they are", () => {
  const metrics = new MetricsRegistry();
  const listeners: ((record: PodRecord) => void)[] = [];
  const subscribe = (listener: (record: PodRecord) => void) => {
    listeners.push(listener);
    return () => {};
  };
  const ephemeral = [{ name: "debug" }, { name: "more" }];
  const three = aRecord({
    pod: aPod({
      containers: [aContainer("a"), aContainer("b"), aContainer("c")],
      ephemeralContainers: ephemeral,
    }),
  });
  const found = { ...three.desired, source: "runtime" } as const;
  exposePods(metrics, { pods: { subscribe, list: () => [three], successors: () => [] } });
  for (const record of [three, three, { ...three, desired: found, uid: "x" as PodUid }])
    for (const listener of listeners) listener(record);
  const page = metrics.expose();
  assert.match(page, /^kubelet_containers_per_pod_count_bucket\{le="2"\} 0$/m);
  assert.match(page, /^kubelet_containers_per_pod_count_bucket\{le="4"\} 1$/m);
  assert.match(page, /^kubelet_managed_ephemeral_containers 2$/m);
});
