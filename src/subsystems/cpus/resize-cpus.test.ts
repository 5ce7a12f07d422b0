import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod } from "../../../test/support/pods.ts";
import { nodesOf } from "../../api/node/numa.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { formatCpuList } from "../../config/cpu-list.ts";
import { CpuDraft } from "./cpu-draft.ts";
import type { CpuState } from "./cpu-state.ts";
import { freshState } from "./initial-state.ts";
import { cpuOptionsOf } from "./options.ts";
import { withPodAsBefore } from "./resize-cpus.ts";
import type { StaticPolicy } from "./static-policy.ts";
import { MACHINES } from "./take/machines.vectors.ts";
import { unitsOf } from "./take/units.ts";

const policyOf = (options: Readonly<Record<string, string>> = {}): StaticPolicy => ({
  units: unitsOf(MACHINES.B),
  nodes: [0, 1],
  reserved: [0],
  options: cpuOptionsOf(options),
  resizes: true,
});

/** Guaranteed containers c0, c1, … with so many CPUs each. */
function podWith(...cpus: readonly string[]): IdentifiedPod {
  const containers = cpus.map((cpu, i) => {
    const amounts = { cpu, memory: "1Gi" };
    return aContainer(`c${i}`, { resources: { requests: amounts, limits: amounts } });
  });
  return aPod({ containers });
}

/** What the containers have after the pod was given its CPUs, or why it was not. */
function given(policy: StaticPolicy, state: CpuState, pod: IdentifiedPod): CpuState | string {
  const draft = new CpuDraft(policy, state, pod);
  for (const container of draft.containers) {
    const refusal = draft.take(container, undefined);
    if (refusal) return refusal.message;
  }
  return draft.state;
}

function text(pod: IdentifiedPod, state: CpuState | string): string {
  if (typeof state === "string") return state;
  const held = [...(state.pods.get(pod.metadata.uid) ?? [])];
  const lists = held.map(([name, cpus]) => `${name}=${formatCpuList(cpus)}`).toSorted();
  return [...lists, `shared ${formatCpuList(state.shared)}`].join(" ");
}

// Machine B: two nodes of three cores, the first with the even CPUs, cores {k, k+6}.
const ROWS: readonly (readonly [
  before: readonly string[],
  after: readonly string[],
  expected: string,
  options?: Readonly<Record<string, string>>,
])[] = [
  [["2"], ["2"], "c0=2,8 shared 0-1,3-7,9-11"],
  [["2"], ["3"], "c0=2,6,8 shared 0-1,3-5,7,9-11"],
  [["2"], ["4"], "c0=2,4,8,10 shared 0-1,3,5-7,9,11"],
  [["2"], ["6"], "c0=1-2,4,6,8,10 shared 0,3,5,7,9,11"],
  [["4"], ["2"], "c0=2,8 shared 0-1,3-7,9-11"],
  [["4"], ["1"], "c0=2 shared 0-1,3-11"],
  [["2", "1"], ["4", "1"], "c0=2,4,8,10 c1=6 shared 0-1,3,5,7,9,11"],
  [["2", "2"], ["1", "3"], "c0=2 c1=4,6,10 shared 0-1,3,5,7-9,11"],
  [["1500m"], ["2"], "c0=2,8 shared 0-1,3-7,9-11"],
  [["2"], ["1500m"], "shared 0-11"],
  [["2", "1"], ["2500m", "1"], "c1=6 shared 0-5,7-11"],
  [
    ["2"],
    ["12"],
    "Allocate failed due to not enough cpus available to satisfy request: requested=10, available=9, which is unexpected",
  ],
  [
    ["2"],
    ["3"],
    "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2",
    { "full-pcpus-only": "true" },
  ],
  [["2"], ["4"], "c0=2,4,8,10 shared 0-1,3,5-7,9,11", { "full-pcpus-only": "true" }],
];

test("a container that is resized keeps its CPUs as far as it can", () => {
  for (const [before, after, expected, options] of ROWS) {
    const policy = policyOf(options);
    const first = given(policy, freshState(policy), podWith(...before));
    assert.ok(typeof first === "object", `${before}: ${JSON.stringify(first)}`);
    const pod = podWith(...after);
    assert.equal(text(pod, given(policy, first, pod)), expected, `${before} to ${after}`);
  }
});

test("without the gate CPUs stay as they were, and the topology manager is offered no place", () => {
  const { resizes, ...policy } = policyOf();
  assert.equal(resizes, true);
  const first = given(policy, freshState(policy), podWith("2"));
  assert.ok(typeof first === "object");
  const pod = podWith("3");
  assert.equal(text(pod, given(policy, first, pod)), "c0=2,8 shared 0-1,3-7,9-11");
  assert.deepEqual(new CpuDraft(policy, first, pod).hints("c0"), [[]]);
});

test("hints of a container that is resized are the nodes where it has CPUs already", () => {
  const policy = policyOf();
  const first = given(policy, freshState(policy), podWith("2"));
  assert.ok(typeof first === "object");
  const hintsOf = (count: string) =>
    new CpuDraft(policy, first, podWith(count))
      .hints("c0")
      .flatMap((hints) => (hints === "any" ? [] : hints))
      .map(({ mask = 0, preferred }) => `${nodesOf(mask, [0, 1])}${preferred ? "+" : "-"}`);
  assert.deepEqual(hintsOf("4"), ["0+", "0,1-"]);
  assert.deepEqual(hintsOf("6"), ["0,1-"]);
  assert.deepEqual(hintsOf("1"), ["0+", "0,1-"]);
  assert.deepEqual(new CpuDraft(policy, first, podWith("4")).podHints().length, 1);
});

test("a resize that could not be kept leaves the pod what it had", () => {
  const policy = policyOf();
  const [small, large, shared] = [podWith("2"), podWith("4"), podWith("500m")];
  const fresh = freshState(policy);
  const first = given(policy, fresh, small);
  assert.ok(typeof first === "object");
  for (const pod of [large, shared, podWith("1")]) {
    const second = given(policy, first, pod);
    assert.ok(typeof second === "object");
    assert.deepEqual(withPodAsBefore(second, first, pod.metadata.uid), first);
  }
  assert.deepEqual(withPodAsBefore(first, fresh, small.metadata.uid), fresh);
});
