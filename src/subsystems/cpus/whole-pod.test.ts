import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod } from "../../../test/support/pods.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { formatCpuList } from "../../config/cpu-list.ts";
import { type CpuState, exclusiveCpus, withoutPod } from "./cpu-state.ts";
import { freshState, misfitOf } from "./initial-state.ts";
import { cpuOptionsOf } from "./options.ts";
import { cpuDraftOf } from "./pod-cpu-draft.ts";
import type { StaticPolicy } from "./static-policy.ts";
import { MACHINES } from "./take/machines.vectors.ts";
import { unitsOf } from "./take/units.ts";

type Kind = "init" | "sidecar" | "regular";
/** Kind and CPUs of a container; without CPUs it has no resources of its own. */
type Row = readonly [Kind, string?];

const machine = MACHINES.B;
const POLICY: StaticPolicy = {
  units: unitsOf(machine),
  nodes: machine.nodes.map(({ id }) => id),
  reserved: [0],
  options: cpuOptionsOf({}),
  podLevel: "pod",
};

function podWith(cpu: string, rows: readonly Row[], uid = "p"): IdentifiedPod {
  const containers = rows.map(([kind, own], i) => {
    const amounts = own === undefined ? undefined : { cpu: own, memory: "64Mi" };
    const resources = amounts && { requests: amounts, limits: amounts };
    const more = kind === "sidecar" ? { restartPolicy: "Always" } : {};
    return { kind, it: aContainer(`c${i}`, { ...(resources && { resources }), ...more }) };
  });
  const all = { cpu, memory: "1Gi" };
  const pod = aPod({
    initContainers: containers.filter(({ kind }) => kind !== "regular").map(({ it }) => it),
    containers: containers.filter(({ kind }) => kind === "regular").map(({ it }) => it),
    resources: { requests: all, limits: all },
  });
  return { ...pod, metadata: { ...pod.metadata, uid: uid as IdentifiedPod["metadata"]["uid"] } };
}

function granted(pod: IdentifiedPod, policy = POLICY, before = freshState(policy)): CpuState {
  const draft = cpuDraftOf(policy, before, pod);
  if (!draft) return before;
  for (const container of draft.containers)
    assert.equal(draft.take(container, undefined), undefined);
  return draft.state;
}

const lists = (state: CpuState, pod: IdentifiedPod) => [
  formatCpuList(state.wholePods?.get(pod.metadata.uid) ?? []),
  Object.fromEntries(
    [...(state.pods.get(pod.metadata.uid) ?? [])].map(([name, cpus]) => [name, cpus.length]),
  ),
];

test("a pod has its CPUs as a whole: exclusive containers have theirs, the others share the rest", () => {
  const rows: readonly (readonly [string, readonly Row[], Readonly<Record<string, number>>])[] = [
    ["4", [["regular"], ["regular"]], { c0: 4, c1: 4 }],
    ["4", [["regular", "1"], ["regular"]], { c0: 1, c1: 3 }],
    [
      "4",
      [
        ["regular", "500m"],
        ["regular", "2"],
      ],
      { c0: 2, c1: 2 },
    ],
    [
      "4",
      [
        ["regular", "2"],
        ["regular", "2"],
      ],
      { c0: 2, c1: 2 },
    ],
    ["4", [["sidecar", "1"], ["init"], ["regular"]], { c0: 1, c1: 3, c2: 3 }],
    ["4", [["init", "2"], ["sidecar"], ["regular", "3"]], { c0: 2, c1: 1, c2: 3 }],
    ["4", [["init"], ["sidecar", "2"], ["init", "1"], ["regular"]], { c0: 4, c1: 2, c2: 1, c3: 2 }],
  ];
  for (const [cpu, containers, expected] of rows) {
    const pod = podWith(cpu, containers);
    const state = granted(pod);
    const [all, parts] = lists(state, pod);
    assert.deepEqual(parts, expected, JSON.stringify(containers));
    const own = new Set(state.wholePods?.get(pod.metadata.uid));
    assert.equal(own.size, Number(cpu), String(all));
    for (const cpus of state.pods.get(pod.metadata.uid)?.values() ?? [])
      assert.ok(cpus.every((each) => own.has(each)));
    assert.equal(misfitOf(POLICY, state), undefined);
    assert.ok(![...exclusiveCpus(state)].some((each) => state.shared.includes(each)));
    assert.equal(granted(pod, POLICY, state), state, "it keeps what it has");
    assert.deepEqual(withoutPod(state, pod.metadata.uid), freshState(POLICY));
  }
});

test("a pod whose containers that share would have no CPU is refused, and has no hint", () => {
  const rows: readonly (readonly [readonly Row[], string])[] = [
    [
      [["regular", "4"], ["regular"]],
      "pod rejected, sum of exclusive container cpu requests equals pod budget, leaving no cpus for shared containers",
    ],
    [
      [["sidecar"], ["regular", "4"]],
      "pod rejected, sum of exclusive container cpu requests equals pod budget, leaving no cpus for shared containers",
    ],
    [
      [["sidecar", "4"], ["init"]],
      "pod rejected, pod has shared init containers but no cpus available for them",
    ],
  ];
  for (const [containers, message] of rows) {
    const state = freshState(POLICY);
    const draft = cpuDraftOf(POLICY, state, podWith("4", containers));
    assert.deepEqual(draft?.podHints(), [[]]);
    assert.deepEqual(draft?.take("c0", undefined), {
      kind: "refused",
      reason: "EmptyPodSharedPoolError",
      message,
    });
    assert.equal(draft?.state, state);
  }
});

test("the pod's CPUs are taken as one request: hints, whole cores and shortage", () => {
  const pod = podWith("3", [["regular"]]);
  const state = granted(pod);
  const hints = cpuDraftOf(POLICY, state, pod)?.podHints() ?? [];
  assert.ok(typeof hints !== "string" && typeof hints[0] === "object");
  assert.ok(hints[0].some(({ preferred }) => preferred));
  const cores = { ...POLICY, options: cpuOptionsOf({ "full-pcpus-only": "true" }) };
  const refusal = cpuDraftOf(cores, freshState(cores), pod)?.take("c0", undefined);
  assert.equal(refusal?.reason, "SMTAlignmentError");
  const much = cpuDraftOf(POLICY, freshState(POLICY), podWith("4000", [["regular"]]));
  assert.match(
    much?.take("c0", undefined)?.message ?? "",
    /^Allocate failed due to not enough cpus available to satisfy request: requested=4000/,
  );
});

test("by container: those with whole CPUs have them, the others share with everybody", () => {
  const policy: StaticPolicy = { ...POLICY, podLevel: "container" };
  const pod = podWith("4", [["regular", "2"], ["regular"]]);
  const state = granted(pod, policy);
  assert.deepEqual(lists(state, pod), ["", { c0: 2 }]);
});

test("without the gate, or without whole CPUs for the pod, it shares", () => {
  const { podLevel: _, ...off } = POLICY;
  const rows: readonly (readonly [StaticPolicy, IdentifiedPod])[] = [
    [off, podWith("4", [["regular", "2"]])],
    [POLICY, podWith("3500m", [["regular", "2"]])],
  ];
  for (const [policy, pod] of rows)
    assert.equal(cpuDraftOf(policy, freshState(policy), pod), undefined);
});
