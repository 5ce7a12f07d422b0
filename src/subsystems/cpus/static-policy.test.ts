import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod } from "../../../test/support/pods.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { formatCpuList } from "../../config/cpu-list.ts";
import { CpuDraft } from "./cpu-draft.ts";
import { type CpuState, withoutPod } from "./cpu-state.ts";
import { freshState, misfitOf, reservedCpus } from "./initial-state.ts";
import { cpuOptionsOf } from "./options.ts";
import { cpuRequests, podCpuCount, type StaticPolicy } from "./static-policy.ts";
import { MACHINES } from "./take/machines.vectors.ts";
import { unitsOf } from "./take/units.ts";

type Kind = "init" | "sidecar" | "regular";

test("guaranteed containers with whole CPUs have them for themselves, each by itself", () => {
  const pod = guaranteed([
    ["regular", 2],
    ["regular", 0.5],
    ["sidecar", 1],
  ]);
  assert.deepEqual(cpuRequests(pod), [
    { container: "c2", kind: "sidecar", count: 1 },
    { container: "c0", kind: "regular", count: 2 },
  ]);
  const burstable = aPod({
    containers: [aContainer("a", { resources: { requests: { cpu: "2" } } })],
  });
  assert.deepEqual(cpuRequests(burstable), []);
  const whole = aPod({
    ...guaranteed([["regular", 2]]).spec,
    resources: { requests: { cpu: "2", memory: "1Gi" }, limits: { cpu: "2", memory: "1Gi" } },
  });
  assert.deepEqual(cpuRequests(whole), []);
});

test("CPUs of a pod as a whole", () => {
  const rows: readonly (readonly [readonly (readonly [Kind, number])[], number])[] = [
    [
      [
        ["init", 5],
        ["regular", 2],
      ],
      5,
    ],
    [
      [
        ["init", 5],
        ["sidecar", 1],
        ["sidecar", 2],
        ["sidecar", 3],
        ["regular", 1],
      ],
      7,
    ],
    [
      [
        ["init", 5],
        ["sidecar", 1],
        ["sidecar", 2],
        ["init", 5],
        ["sidecar", 3],
        ["regular", 1],
      ],
      8,
    ],
    [
      [
        ["sidecar", 10],
        ["init", 200],
        ["regular", 100],
      ],
      210,
    ],
  ];
  for (const [kinds, count] of rows)
    assert.equal(podCpuCount(cpuRequests(guaranteed(kinds))), count);
});

test("init containers leave their CPUs to those that come after them", () => {
  const policy = policyOf("A", []);
  const pod = guaranteed([
    ["init", 4],
    ["regular", 2],
  ]);
  const state = giveAll(policy, freshState(policy), pod);
  assert.deepEqual(heldIn(state, pod), { c0: "0-1,4-5", c1: "0,4" });
  assert.equal(formatCpuList(state.shared), "2-3,6-7");
  assert.deepEqual(withoutPod(state, pod.metadata.uid), freshState(policy));
});

test("a sidecar takes what it was left, and nobody takes it from the sidecar", () => {
  const policy = policyOf("A", [0]);
  const pod = guaranteed([
    ["init", 2],
    ["sidecar", 1],
    ["init", 2],
    ["regular", 2],
  ]);
  const held = heldIn(giveAll(policy, freshState(policy), pod), pod);
  const sets = Object.values(held).map((list) => new Set(list));
  assert.equal(sets.length, 4);
  assert.ok(!held["c2"]?.split(",").includes(held["c1"] ?? ""), JSON.stringify(held));
  assert.ok(!held["c3"]?.split(",").includes(held["c1"] ?? ""), JSON.stringify(held));
});

test("full-pcpus-only refuses what would split a core", () => {
  const rows: readonly (readonly [keyof typeof MACHINES, readonly number[], number, string])[] = [
    ["A", [0], 1, "requested 1 cpus not multiple cpus per core = 2"],
    [
      "B",
      [1, 6],
      10,
      "not enough free physical CPUs: available physical CPUs = 8, requested CPUs = 10, CPUs per core = 2",
    ],
  ];
  for (const [machine, reserved, count, error] of rows) {
    const policy = policyOf(machine, reserved, { "full-pcpus-only": "true" });
    const draft = new CpuDraft(policy, freshState(policy), guaranteed([["regular", count]]));
    const message = `SMT Alignment Error: ${error}`;
    const refused = { kind: "refused", reason: "SMTAlignmentError", message };
    assert.deepEqual(draft.take("c0", undefined), refused);
  }
  const policy = policyOf("B", [0, 6], { "full-pcpus-only": "true" });
  const pod = guaranteed([["regular", 10]]);
  const state = giveAll(policy, freshState(policy), pod);
  assert.deepEqual(heldIn(state, pod), { c0: "1-5,7-11" });
  // Once it has them it is not judged again, as after a restart on a full node.
  assert.equal(giveAll(policy, state, pod), state);
});

test("too many CPUs are refused in the Go kubelet's words", () => {
  const policy = policyOf("A", [0]);
  const draft = new CpuDraft(policy, freshState(policy), guaranteed([["regular", 8]]));
  assert.deepEqual(draft.take("c0", undefined), {
    kind: "refused",
    reason: "UnexpectedAdmissionError",
    message:
      "Allocate failed due to not enough cpus available to satisfy request: requested=8, available=7, which is unexpected",
  });
  assert.equal(draft.place("c0", 1), "refused");
});

test("CPUs that are reserved: by number or as many as the reservations come to", () => {
  const units = unitsOf(MACHINES.A);
  const none = cpuOptionsOf({});
  const of = (systemReserved: string, kubeReserved: string, named: readonly number[] = []) =>
    reservedCpus(
      units,
      { systemReserved: { cpu: systemReserved }, kubeReserved: { cpu: kubeReserved }, named },
      none,
    );
  assert.deepEqual(of("300m", "800m"), { ok: true, cpus: [0, 4] });
  assert.deepEqual(of("2", "0", [3, 1]), { ok: true, cpus: [1, 3] });
  assert.deepEqual(of("2", "0", [7, 8]), {
    ok: false,
    error: "reserved-cpus: 7-8 is not a subset of online-cpus: 0-7",
  });
  assert.equal(of("9", "0").ok, false);
});

test("a kept state fits the machine, or says why not", () => {
  const plain = policyOf("A", [0]);
  const strict = policyOf("A", [0], { "strict-cpu-reservation": "true" });
  const pod = guaranteed([["regular", 2]]);
  for (const policy of [plain, strict]) {
    assert.equal(misfitOf(policy, freshState(policy)), undefined);
    assert.equal(misfitOf(policy, giveAll(policy, freshState(policy), pod)), undefined);
  }
  const given = giveAll(plain, freshState(plain), pod);
  const uid = pod.metadata.uid;
  const rows: readonly (readonly [StaticPolicy, CpuState, string])[] = [
    [plain, { shared: [], pods: given.pods }, "default cpuset cannot be empty"],
    [
      strict,
      freshState(plain),
      'some of strictly reserved cpus: "0" are present in defaultCpuSet: "0-7"',
    ],
    [plain, freshState(strict), 'not all reserved cpus: "0" are present in defaultCpuSet: "1-7"'],
    [
      plain,
      { ...given, shared: [0, 1, 2, 3, 4, 5, 6, 7] },
      `pod: ${uid}, container: c0 cpuset: "1,5" overlaps with default cpuset "0-7"`,
    ],
    [
      plain,
      { shared: [0, 1, 2], pods: new Map() },
      'current set of available CPUs "0-7" doesn\'t match with CPUs in state "0-2"',
    ],
  ];
  for (const [policy, state, why] of rows) assert.equal(misfitOf(policy, state), why);
});

function guaranteed(kinds: readonly (readonly [Kind, number])[]): IdentifiedPod {
  const containers = kinds.map(([kind, cpus], at) => {
    const amounts = { cpu: String(cpus), memory: "1Gi" };
    return {
      kind,
      container: aContainer(`c${at}`, {
        resources: { requests: amounts, limits: amounts },
        ...(kind === "sidecar" ? { restartPolicy: "Always" } : {}),
      }),
    };
  });
  const of = (isInit: boolean) =>
    containers
      .filter(({ kind }) => (kind !== "regular") === isInit)
      .map(({ container }) => container);
  return aPod({ initContainers: of(true), containers: of(false) });
}

function giveAll(policy: StaticPolicy, state: CpuState, pod: IdentifiedPod): CpuState {
  const draft = new CpuDraft(policy, state, pod);
  for (const { container } of cpuRequests(pod))
    assert.equal(draft.take(container, undefined), undefined);
  return draft.state;
}

function heldIn(state: CpuState, { metadata }: IdentifiedPod): Readonly<Record<string, string>> {
  const pod = state.pods.get(metadata.uid) ?? new Map<string, readonly number[]>();
  return Object.fromEntries([...pod].map(([name, cpus]) => [name, formatCpuList(cpus)]));
}

function policyOf(
  machine: keyof typeof MACHINES,
  reserved: readonly number[],
  options: Readonly<Record<string, string>> = {},
): StaticPolicy {
  const { nodes } = MACHINES[machine];
  const units = unitsOf(MACHINES[machine]);
  return { units, nodes: nodes.map(({ id }) => id), reserved, options: cpuOptionsOf(options) };
}
