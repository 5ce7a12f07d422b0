import assert from "node:assert/strict";
import { test } from "node:test";
import {
  BURSTABLE,
  container,
  demand,
  GI,
  GUARANTEED,
  ONE,
  pod,
  settings,
  TWO,
} from "../../../../test/support/cgroup-pods.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import type { CgroupSettings, MemoryQos } from "../settings.ts";
import type { CgroupPlan } from "../writes.ts";
import { memoryHigh } from "./memory-qos.ts";
import { planContainerGroup } from "./plan-container.ts";
import { planNode } from "./plan-node.ts";
import { planPodGroup } from "./plan-pod.ts";
import { planQos, planQosStart } from "./plan-qos.ts";
import { planGroupResize, type ResizeStep } from "./plan-resize.ts";
import { planTree } from "./plan-tree.ts";

/** The gate is off; on with the default configuration; with a factor; with a policy; with both. */
const CONFIGURED = {
  off: undefined,
  on: { reservation: "None", pageBytes: 4096 },
  factor: { reservation: "None", throttlingFactor: 0.9, pageBytes: 4096 },
  tiered: { reservation: "TieredReservation", pageBytes: 4096 },
  both: { reservation: "TieredReservation", throttlingFactor: 0.9, pageBytes: 4096 },
} as const satisfies Record<string, MemoryQos | undefined>;
type Configured = keyof typeof CONFIGURED;

function configured(name: Configured, version: 1 | 2 = 2): CgroupSettings {
  const memoryQos = CONFIGURED[name];
  return settings(version, memoryQos === undefined ? {} : { memoryQos });
}

/** `min low high` of what is written, `-` where a file is left alone. */
const shown = (files: Readonly<Record<string, string>>) =>
  ["memory.min", "memory.low", "memory.high"].map((file) => files[file] ?? "-").join(" ");

const written = ({ writes }: CgroupPlan) =>
  Object.fromEntries(
    writes.flatMap(({ file, value, asFound }) => (asFound ? [] : [[file, value] as const])),
  );

const MI = 2 ** 20;
const HIGH = 2_040_107_008;

/** Request, limit, factor, bytes from which is throttled; 8 GiB of the node are allocatable. */
const THROTTLED: readonly (readonly [number, number, number | undefined, number | undefined])[] = [
  [GI, 2 * GI, 0.9, HIGH],
  [GI, 0, 0.9, 7_838_314_496],
  [0, 0, 0.9, 7_730_937_856],
  [0, GI, 0.9, 966_365_184],
  [128 * MI, 256 * MI, 0.9, 255_012_864],
  [GI, 2 * GI, 0.5, 1.5 * GI],
  [GI, 2 * GI, 1, 2 * GI],
  [GI, GI, 0.9, undefined],
  [4096, 4097, 0.9, undefined],
  [GI, 2 * GI, undefined, undefined],
  [0, 0, undefined, undefined],
];
for (const [request, limit, throttlingFactor, high] of THROTTLED)
  test(`memoryHigh: ${request} of ${limit} with the factor ${throttlingFactor} is ${high}`, () => {
    const memoryQos: MemoryQos = {
      reservation: "None",
      pageBytes: 4096,
      ...(throttlingFactor === undefined ? {} : { throttlingFactor }),
    };
    assert.equal(memoryHigh(settings(2, { memoryQos }), request, limit), high);
    assert.equal(memoryHigh(settings(1, { memoryQos }), request, limit), undefined, "v1");
    assert.equal(memoryHigh(settings(2), request, limit), undefined, "gate off");
  });

const PODS = {
  guaranteed: GUARANTEED,
  burstable: pod([container("a", ONE, TWO)]),
  unlimited: pod([container("a", ONE)]),
  "best effort": pod([container("a")]),
  "no memory": pod([container("a", { cpu: "1" })]),
  "limited as a whole": pod([container("a", ONE)], { resources: { limits: { memory: "2Gi" } } }),
  "limited as a whole in CPU": pod([container("a", ONE)], { resources: { limits: { cpu: "2" } } }),
} as const satisfies Record<string, IdentifiedPod>;
type PodName = keyof typeof PODS;

/** What the first container's configuration has in each of the five cases. */
const CONTAINERS: Readonly<Record<PodName, Readonly<Record<Configured, string>>>> = {
  guaranteed: {
    off: "- - max",
    on: "0 0 -",
    factor: "0 0 -",
    tiered: `${GI} 0 -`,
    both: `${GI} 0 -`,
  },
  burstable: {
    off: "- - max",
    on: "0 0 -",
    factor: `0 0 ${HIGH}`,
    tiered: `0 ${GI} -`,
    both: `0 ${GI} ${HIGH}`,
  },
  unlimited: {
    off: "- - max",
    on: "0 0 -",
    factor: "0 0 7838314496",
    tiered: `0 ${GI} -`,
    both: `0 ${GI} 7838314496`,
  },
  "best effort": {
    off: "- - max",
    on: "0 0 -",
    factor: "0 0 7730937856",
    tiered: "0 0 -",
    both: "0 0 7730937856",
  },
  "no memory": {
    off: "- - max",
    on: "0 0 -",
    factor: "0 0 7730937856",
    tiered: "0 0 -",
    both: "0 0 7730937856",
  },
  "limited as a whole": {
    off: "- - max",
    on: "0 0 -",
    factor: "0 0 -",
    tiered: `0 ${GI} -`,
    both: `0 ${GI} -`,
  },
  "limited as a whole in CPU": {
    off: "- - max",
    on: "0 0 -",
    factor: "0 0 7838314496",
    tiered: `0 ${GI} -`,
    both: `0 ${GI} 7838314496`,
  },
};
for (const [name, rows] of Object.entries(CONTAINERS))
  for (const [how, files] of Object.entries(rows))
    test(`memory of a container, ${name}, MemoryQoS ${how}: ${files}`, () => {
      const of = demand(PODS[name as PodName]);
      const [first] = of.containers;
      assert.ok(first);
      const unified = (version: 1 | 2) =>
        planContainerGroup(configured(how as Configured, version), of, first).unified;
      assert.equal(shown(unified(2)), files);
      assert.equal(shown(unified(1)), "- - -");
    });

const LEVEL = { requests: ONE, limits: TWO };

/** What the group of a pod has in each of the five cases. */
const GROUPS: readonly (readonly [string, IdentifiedPod, Readonly<Record<Configured, string>>])[] =
  [
    [
      "guaranteed",
      GUARANTEED,
      { off: "- - -", on: "- - -", factor: "- - -", tiered: `${GI} - -`, both: `${GI} - -` },
    ],
    [
      "burstable without resources of its own",
      PODS.burstable,
      { off: "- - -", on: "- - -", factor: "- - -", tiered: `- ${GI} -`, both: `- ${GI} -` },
    ],
    [
      "limited as a whole",
      pod([container("a")], { resources: LEVEL }),
      {
        off: "- - -",
        on: "- - -",
        factor: `- - ${HIGH}`,
        tiered: `- ${GI} -`,
        both: `- ${GI} ${HIGH}`,
      },
    ],
    [
      "CPU of its own, every container limited",
      pod([container("a", ONE, TWO)], { resources: { limits: { cpu: "2" } } }),
      {
        off: "- - -",
        on: "- - -",
        factor: `- - ${HIGH}`,
        tiered: `- ${GI} -`,
        both: `- ${GI} ${HIGH}`,
      },
    ],
    [
      "CPU of its own, a container without a limit",
      pod([container("a", ONE, TWO), container("b")], { resources: { limits: { cpu: "2" } } }),
      { off: "- - -", on: "- - -", factor: "- - -", tiered: `- ${GI} -`, both: `- ${GI} -` },
    ],
    [
      "all that is allowed is requested",
      pod([container("a")], { resources: { requests: ONE, limits: ONE } }),
      { off: "- - -", on: "- - -", factor: "- - -", tiered: `${GI} - -`, both: `${GI} - -` },
    ],
  ];
for (const [name, given, rows] of GROUPS)
  for (const [how, files] of Object.entries(rows))
    test(`memory of a pod's group, ${name}, MemoryQoS ${how}: ${files}`, () => {
      const plan = (version: 1 | 2) =>
        written(planPodGroup(configured(how as Configured, version), demand(given)));
      assert.equal(shown(plan(2)), files);
      assert.equal(shown(plan(1)), "- - -");
    });

/** What is written at the start, then in a pass for a guaranteed pod of 1 GiB and burstable ones of 2 GiB. */
const CLASSES: Readonly<Record<Configured, { readonly start: object; readonly pass: object }>> = {
  off: { start: { "/kubepods": "0 0 -", "/kubepods/burstable": "- 0 -" }, pass: {} },
  on: { start: { "/kubepods": "0 0 -", "/kubepods/burstable": "- 0 -" }, pass: {} },
  factor: { start: { "/kubepods": "0 0 -", "/kubepods/burstable": "- 0 -" }, pass: {} },
  tiered: {
    start: {},
    pass: { "/kubepods": `${3 * GI} ${2 * GI} -`, "/kubepods/burstable": `- ${2 * GI} -` },
  },
  both: {
    start: {},
    pass: { "/kubepods": `${3 * GI} ${2 * GI} -`, "/kubepods/burstable": `- ${2 * GI} -` },
  },
};
const DEMANDS = [demand(GUARANTEED), demand(BURSTABLE)];
const byGroup = (plans: readonly CgroupPlan[]) =>
  Object.fromEntries(
    plans.flatMap((plan) => {
      const files = shown(written(plan));
      return files === "- - -" ? [] : [[plan.path, files]];
    }),
  );
for (const [how, { start, pass }] of Object.entries(CLASSES))
  test(`memory of the classes, MemoryQoS ${how}`, () => {
    const on = configured(how as Configured);
    assert.deepEqual(byGroup(planQosStart(on)), start, "at the start");
    assert.deepEqual(byGroup(planQos(on, DEMANDS)), pass, "in a pass");
    const v1 = configured(how as Configured, 1);
    const all = [planNode(v1), ...planQosStart(v1), ...planQos(v1, DEMANDS)];
    assert.deepEqual(byGroup(all), {}, "v1");
  });

test("with the gate off the limits of all pods come with no protected memory, so that repeating them lifts it", () => {
  assert.equal(shown(written(planNode(configured("off")))), "0 0 -");
  for (const how of ["on", "factor", "tiered", "both"] as const)
    assert.equal(shown(written(planNode(configured(how)))), "- - -", how);
});

test("memory that others protect where nothing is reserved is a difference, and named once", () => {
  for (const how of ["off", "on"] as const)
    for (const { path, writes } of planTree(configured(how), DEMANDS).slice(0, 2)) {
      const files = writes.map(({ file }) => file);
      assert.equal(new Set(files).size, files.length, `${how} ${path}`);
      assert.equal(writes.find(({ file }) => file === "memory.low")?.value, "0", `${how} ${path}`);
    }
});

test("a resize changes what is protected and throttled of the pod's group", () => {
  const sized = (memory: string, limit: string) =>
    demand(
      pod([container("a")], { resources: { requests: { memory }, limits: { memory: limit } } }),
    );
  const from = sized("1Gi", "2Gi");
  const step = (each: ResizeStep) => (each.kind === "group" ? shown(written(each.plan)) : "");
  const steps = planGroupResize(configured("both"), {
    from,
    to: sized("2Gi", "3Gi"),
    updateAll: false,
    found: new Map([
      ["memory.max", String(2 * GI)],
      ["memory.low", String(GI)],
      ["memory.high", String(HIGH)],
    ]),
  });
  assert.ok(steps.map(step).includes(`- ${2 * GI} 3113848832`), steps.map(step).join());
});
