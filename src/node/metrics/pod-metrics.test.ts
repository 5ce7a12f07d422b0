import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod, aRecord, at } from "../../../test/support/pods.ts";
import type { PodUid } from "../../api/observation.ts";
import { MetricsRegistry } from "../../kit/metrics.ts";
import type { PodRecord } from "../../pipeline/pods/record/record.ts";
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

const CPU = { requests: { cpu: "1" } };
for (const [spec, mode, qos] of [
  [{}, "", "besteffort"],
  [{ containers: [{ name: "c", resources: CPU }] }, "container_level", "burstable"],
  [{ initContainers: [{ name: "i", resources: CPU }] }, "container_level", "burstable"],
  [{ resources: CPU }, "pod_level", "burstable"],
  [
    { resources: CPU, containers: [{ name: "c", resources: CPU }] },
    "pod_and_container_level",
    "burstable",
  ],
] as const)
  test(`exposePods counts an admitted pod once: ${mode || "no resources"}`, () => {
    const metrics = new MetricsRegistry();
    const listeners: ((record: PodRecord) => void)[] = [];
    const subscribe = (listener: (record: PodRecord) => void) => {
      listeners.push(listener);
      return () => {};
    };
    exposePods(metrics, { pods: { subscribe, list: () => [], successors: () => [] } });
    const { pod } = aRecord();
    const own = { ...pod, spec: { containers: [{ name: "c" }], ...spec } };
    const record = aRecord({}, { pod: own as unknown as PodRecord["pod"] });
    const admitted = { ...record, admission: { kind: "admitted" } } as const;
    for (const each of [admitted, admitted]) for (const listener of listeners) listener(each);
    const labels = `config_mode="${mode}",qos_class="${qos}"`;
    const line = `kubelet_pod_level_resources_admission_total{${labels}} 1`;
    assert.ok(metrics.expose().includes(line), metrics.expose());
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
