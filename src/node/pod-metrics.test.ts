import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod, aRecord, wall } from "../../test/support/pods.ts";
import { MetricsRegistry } from "../kit/metrics.ts";
import { asSpecified, type PodRecord } from "../pipeline/pods/record.ts";
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

test("exposePods counts a refusal once, however often it is told", () => {
  const metrics = new MetricsRegistry();
  const listeners: ((record: PodRecord) => void)[] = [];
  const subscribe = (listener: (record: PodRecord) => void) => {
    listeners.push(listener);
    return () => {};
  };
  exposePods(metrics, { pods: { subscribe, list: () => [] } });
  const admission = { kind: "rejected", reason: "OutOfpods", message: "" } as const;
  const tell = (record: PodRecord) => listeners.forEach((listener) => void listener(record));
  tell(aRecord());
  const refused = aRecord({}, { admission });
  for (const record of [refused, refused, { ...refused, uid: "uid-2" as typeof refused.uid }])
    tell(record);
  const line = 'kubelet_admission_rejections_total{reason="OutOfpods"} ';
  assert.ok(metrics.expose().includes(`${line}2`));
  tell({ ...refused, life: { kind: "released" } });
  tell(refused);
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
  exposePods(metrics, { pods: { subscribe: () => () => {}, list } });
  for (const line of [
    'kubelet_pod_pending_resizes{reason="deferred"} 2',
    'kubelet_pod_pending_resizes{reason="infeasible"} 0',
    "kubelet_pod_in_progress_resizes 1",
  ])
    assert.ok(metrics.expose().includes(line), line);
});
