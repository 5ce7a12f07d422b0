// Examples that Kubernetes publishes: KEP-693, KEP-1769, KEP-2625, KEP-2902, KEP-3545 and its documentation.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container, Pod } from "../../src/api/generated/types.ts";
import { nodesOf } from "../../src/api/node/numa.ts";
import { defaultPod } from "../../src/api/pod/pod-defaults.ts";
import { type IdentifiedPod, identifyPod } from "../../src/api/pod-identity.ts";
import type { Hint } from "../../src/api/ports/hint-provider.ts";
import { formatCpuList } from "../../src/config/cpu-list.ts";
import { align } from "../../src/pipeline/admission/topology/align.ts";
import { CpuDraft } from "../../src/subsystems/cpus/cpu-draft.ts";
import { freshState } from "../../src/subsystems/cpus/initial-state.ts";
import { cpuOptionsOf } from "../../src/subsystems/cpus/options.ts";
import { cpuRequests, podCpuCount } from "../../src/subsystems/cpus/static-policy.ts";
import { machineOf } from "../../src/subsystems/cpus/take/machines.vectors.ts";
import { takeCpus } from "../../src/subsystems/cpus/take/take-cpus.ts";
import { unitsOf } from "../../src/subsystems/cpus/take/units.ts";
import {
  type AssignedPod,
  assignContainer,
} from "../../src/subsystems/numa-memory/assign-memory.ts";
import { memoryHints } from "../../src/subsystems/numa-memory/memory-hints.ts";
import {
  type MemoryRequest,
  memoryRequests,
  totalRequest,
} from "../../src/subsystems/numa-memory/memory-requests.ts";
import { emptyState } from "../../src/subsystems/numa-memory/memory-state.ts";
import { readNodes } from "../../src/subsystems/numa-memory/read-nodes.ts";

const GI = 2 ** 30;
const MI = 2 ** 20;

type Amounts = Readonly<Record<string, string>>;

const container = (name: string, requests: Amounts, limits: Amounts = requests): Container => ({
  name,
  image: "i:1",
  resources: { requests, limits },
});

function podOf(containers: readonly Container[], initContainers: readonly Container[] = []) {
  const pod = {
    metadata: { name: "p", namespace: "d", uid: "p" },
    spec: { containers, initContainers },
  };
  return identifyPod(defaultPod(pod as unknown as Pod));
}

test("KEP-693: the effective request of a pod is what its containers or one init container need", () => {
  const pod = podOf(
    [container("a", { cpu: "2", memory: "1G" }), container("b", { cpu: "1", memory: "1G" })],
    [container("i", { cpu: "2", memory: "1G" }), container("j", { cpu: "2", memory: "3G" })],
  );
  assert.equal(podCpuCount(cpuRequests(pod)), 3);
  assert.equal(totalRequest(memoryRequests(pod)).get("memory"), 3e9);
});

/** Assigns pods of one container one after the other; nodes, or undefined where it is refused. */
function assignedNodes(
  sizes: readonly number[],
  requests: readonly number[],
  preferred: boolean,
): readonly (readonly number[] | undefined)[] {
  let state = emptyState(
    sizes.map((memoryBytes, id) => ({ id, memoryBytes, hugePages: [], reserved: new Map() })),
  );
  return requests.map((size, at) => {
    const request: MemoryRequest = {
      container: "c",
      kind: "regular",
      amounts: new Map([["memory", size]]),
    };
    const pod: AssignedPod = { state, uid: `pod-${at}`, reusable: new Map() };
    const outcome = assignContainer(pod, [request], request, { mask: undefined, preferred });
    if (outcome.kind === "short") return undefined;
    state = outcome.pod.state;
    return state.pods.get(`pod-${at}`)?.get("c")?.[0]?.nodes;
  });
}

test("KEP-1769: a pod over both nodes makes them a group, and the next that fits one node is rejected", () => {
  assert.deepEqual(assignedNodes([10 * GI, 10 * GI], [15 * GI, 5 * GI], true), [[0, 1], undefined]);
  assert.deepEqual(assignedNodes([10 * GI, 10 * GI], [15 * GI, 5 * GI], false), [
    [0, 1],
    [0, 1],
  ]);
});

test("KEP-1769: of 2Gi and one huge page of 1Gi only the node has hints that has both", () => {
  const huge = "hugepages-1Gi";
  const nodeOf = (id: number, memory: number, pages: number) => ({
    id,
    memoryBytes: (memory + pages) * GI,
    hugePages: [{ type: huge, bytes: pages * GI }],
    reserved: new Map<string, number>(),
  });
  const state = emptyState([nodeOf(0, 8, 4), nodeOf(1, 8, 0)]);
  const amounts = new Map([
    ["memory", 2 * GI],
    [huge, GI],
  ]);
  const hints = memoryHints(state, amounts, new Map());
  const preferred = hints.filter((hint: Hint) => hint.preferred);
  assert.deepEqual(
    preferred.map(({ mask }) => nodesOf(mask ?? 0, [0, 1])),
    [[0]],
  );
});

test("KEP-1769: allocatable is the total without what is reserved, free and reserved together are allocatable", () => {
  const reserved = [500e6, 100e6];
  const capacities = reserved.map((bytes, id) => ({
    id,
    memoryBytes: 10 * GI,
    hugePages: [],
    reserved: new Map([["memory", bytes]]),
  }));
  for (const [id, { memory }] of emptyState(capacities).nodes) {
    const {
      total,
      systemReserved,
      allocatable,
      free,
      reserved: taken,
    } = memory.get("memory") ?? {
      total: 0,
      systemReserved: 0,
      allocatable: 0,
      free: 0,
      reserved: 0,
    };
    assert.equal(systemReserved, reserved[id]);
    assert.equal(allocatable, total - systemReserved);
    assert.equal(free + taken, allocatable);
  }
});

const NODES = [0, 1].map((id) => ({
  id,
  cpus: [id],
  memoryBytes: 64 * GI,
  hugePages: [],
  distances: undefined,
}));

for (const [source, kept, limits, isRight] of [
  // kubeReserved 4Gi, systemReserved 1Gi, the default eviction threshold 100Mi.
  ["documentation of the memory manager", 5 * GI + 100 * MI, ["3Gi", "2148Mi"], true],
  ["the same without the threshold", 5 * GI + 100 * MI, ["3Gi", "2Gi"], false],
  // 50Mi, 333Mi and 500Mi.
  ["KEP-1769", 883 * MI, ["383Mi", "500Mi"], true],
  ["KEP-1769, example A", 883 * MI, ["1Gi", "2Gi"], false],
] as const)
  test(`memory reserved on nodes adds up to what the node keeps: ${source}`, () => {
    const reserved = limits.map((memory, numaNode) => ({ numaNode, limits: { memory } }));
    const read = () => readNodes({ nodes: NODES, reserved, keptBytes: kept });
    if (isRight) assert.equal(read().length, 2);
    else assert.throws(read, /the total amount "\d+" of type "memory" is not equal to the value/);
  });

/** What the static policy gives the containers of a pod, with 16 cores of two threads of which none is reserved. */
function given(pod: IdentifiedPod, options: Amounts): readonly string[] {
  const machine = machineOf(32, (id) => ({ core: id % 16, socket: 0, node: 0, cache: 0 }));
  const policy = {
    units: unitsOf(machine),
    nodes: [0],
    reserved: [],
    options: cpuOptionsOf(options),
  };
  const draft = new CpuDraft(policy, freshState(policy), pod);
  return cpuRequests(pod).map(({ container: name }) => {
    const refusal = draft.take(name, undefined);
    const cpus = draft.state.pods.get(pod.metadata.uid)?.get(name) ?? [];
    return refusal ? refusal.message : formatCpuList(cpus);
  });
}

test("KEP-2625: five CPUs of cores with two threads are rejected, six are three whole cores", () => {
  const asking = (cpu: string) => podOf([container("app", { cpu, memory: "128Mi" })]);
  const whole = { "full-pcpus-only": "true" };
  assert.deepEqual(given(asking("5"), whole), [
    "SMT Alignment Error: requested 5 cpus not multiple cpus per core = 2",
  ]);
  assert.deepEqual(given(asking("6"), whole), ["0-2,16-18"]);
  assert.deepEqual(given(asking("5"), {}), ["0-2,16-17"]);
});

test("KEP-2902: one CPU more than a NUMA node has is shared over two nodes evenly, not packed", () => {
  const machine = machineOf(16, (id) => ({
    core: id,
    socket: id >> 3,
    node: id >> 3,
    cache: id >> 3,
  }));
  const free = machine.cpus.map(({ id }) => id);
  const spread = (options: Amounts) => {
    const taken = takeCpus(unitsOf(machine), free, 9, cpuOptionsOf(options));
    assert.ok(taken.ok);
    return [0, 1].map((node) => taken.cpus.filter((cpu) => cpu >> 3 === node).length);
  };
  assert.deepEqual(spread({ "distribute-cpus-across-numa": "true" }), [5, 4]);
  assert.deepEqual(spread({}), [8, 1]);
});

/** Two groups of two pairs: 10 to itself, 11 in the pair, 12 in the group, 30 to the other. */
const DISTANCES = Array.from({ length: 8 }, (_, from) =>
  Array.from({ length: 8 }, (__, to) => {
    if (from === to) return 10;
    if (from >> 1 === to >> 1) return 11;
    return from >> 2 === to >> 2 ? 12 : 30;
  }),
);

for (const [sets, best] of [
  [["01", "02", "03", "23", "12"], "01"],
  [["02", "03", "23", "12"], "23"],
  [["03", "12"], "12"],
  [["04", "012"], "04"],
  [["04", "67", "012"], "67"],
] as const)
  test(`KEP-3545: of ${sets} the closest of the narrowest sets is ${best}`, () => {
    const maskOf = (text: string) =>
      [...text].reduce((mask, digit) => mask | (1 << Number(digit)), 0);
    const nodes = DISTANCES.map((_, id) => id);
    const settings = {
      policy: "restricted",
      scope: "container",
      nodes,
      distances: DISTANCES,
    } as const;
    const hints = sets.map((text) => ({ mask: maskOf(text), preferred: true }));
    assert.deepEqual(align([hints], settings), {
      kind: "admitted",
      mask: maskOf(best),
      preferred: true,
    });
  });

for (const [what, requests, limits, cpus] of [
  ["no resources", {}, {}, []],
  ["a limit above the request", { memory: "100Mi" }, { memory: "200Mi" }, []],
  ["different CPUs", { cpu: "1", memory: "100Mi" }, { cpu: "2", memory: "200Mi" }, []],
  ["whole CPUs", { cpu: "2", memory: "200Mi" }, { cpu: "2", memory: "200Mi" }, ["0,16"]],
  ["a part of a CPU", { cpu: "1.5", memory: "200Mi" }, { cpu: "1.5", memory: "200Mi" }, []],
  ["limits only", {}, { cpu: "2", memory: "200Mi" }, ["0,16"]],
] as const)
  test(`documentation of the static policy: a container with ${what}`, () => {
    assert.deepEqual(given(podOf([container("nginx", requests, limits)]), {}), cpus);
  });
