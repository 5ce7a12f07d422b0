import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeMemory, type KeptMemory, parseMemory } from "./memory-checkpoint.ts";
import { assign, emptyState, type MemoryState, withBlocks } from "./memory-state.ts";
import { continueMemory } from "./validate-memory.ts";

const GI = 2 ** 30;

const twoNodes = (reserved = GI): MemoryState =>
  emptyState(
    [reserved, 0].map((bytes, id) => ({
      id,
      memoryBytes: 8 * GI,
      hugePages: [],
      reserved: new Map([["memory", bytes]]),
    })),
  );

/** With one container's memory on these nodes. */
function withPod(state: MemoryState, nodes: readonly number[], size: number): MemoryState {
  const block = { nodes, type: "memory", size };
  return {
    nodes: assign(state.nodes, block, size),
    pods: withBlocks(state.pods, "pod1", { container: "c1", blocks: [block] }),
  };
}

const table = { total: 2048, systemReserved: 512, allocatable: 1536, reserved: 512, free: 1024 };
/** The example of the Go kubelet's own tests. */
const EXAMPLE: KeptMemory = {
  policy: "static",
  nodes: new Map([[0, { assignments: 0, memory: new Map([["memory", table]]), cells: [] }]]),
  pods: new Map([["pod", new Map([["container1", [{ nodes: [0], type: "memory", size: 512 }]]])]]),
};

for (const [name, kept, checksum] of [
  ["the example", EXAMPLE, 4_215_593_881],
  ["None", { policy: "None", nodes: new Map(), pods: new Map() }, 4_236_770_233],
  ["Static with nothing assigned", { policy: "Static", ...twoNodes() }, 72_258_720],
  [
    "Static with one container",
    { policy: "Static", ...withPod(twoNodes(), [0], 2 * GI) },
    2_339_336_469,
  ],
] as const)
  test(`memory_manager_state has the Go kubelet's checksum: ${name}`, () => {
    const text = encodeMemory(kept);
    assert.equal((JSON.parse(text) as { checksum: number }).checksum, checksum);
    assert.deepEqual(parseMemory(text), { kind: "read", value: kept });
  });

test("memory_manager_state is written as the Go kubelet writes it", () => {
  assert.equal(
    encodeMemory({ policy: "None", nodes: new Map(), pods: new Map() }),
    String.raw`{"policyName":"None","machineState":{},"checksum":4236770233,"data":"{\"policyName\":\"None\",\"machineState\":{}}","dataChecksum":3093843326}`,
  );
  const { data, dataChecksum, ...first } = JSON.parse(encodeMemory(EXAMPLE));
  assert.equal(
    JSON.stringify(first),
    '{"policyName":"static","machineState":{"0":{"numberOfAssignments":0,"memoryMap":{"memory":{"total":2048,"systemReserved":512,"allocatable":1536,"reserved":512,"free":1024}},"cells":[]}},"entries":{"pod":{"container1":[{"numaAffinity":[0],"type":"memory","size":512}]}},"checksum":4215593881}',
  );
  const { checksum, ...content } = first;
  assert.equal(checksum, 4_215_593_881);
  assert.deepEqual(JSON.parse(data), content);
  assert.equal(typeof dataChecksum, "number");
});

const KEPT: KeptMemory = { policy: "Static", ...withPod(twoNodes(), [0], 2 * GI) };
const NEWEST = encodeMemory(KEPT);
/** As kubelets before 1.37 wrote it. */
const GOOD = JSON.stringify({ ...JSON.parse(NEWEST), data: undefined, dataChecksum: undefined });

test("memory_manager_state of the versions before 1.37 is read", () =>
  assert.deepEqual(parseMemory(GOOD), { kind: "read", value: KEPT }));

test("memory_manager_state: the text of 1.37 counts, whatever stands beside it", () =>
  assert.deepEqual(parseMemory(NEWEST.replace('"policyName":"Static"', '"policyName":"None"')), {
    kind: "read",
    value: KEPT,
  }));

for (const [name, text, why] of [
  ["cut short", GOOD.slice(0, 100), /JSON/],
  ["empty", "", /JSON/],
  ["a list", "[]", /^it is no object$/],
  ["without a policy", "{}", /^it names no policy$/],
  [
    "changed by hand",
    GOOD.replace('"size":2147483648', '"size":2147483649'),
    /^checkpoint is corrupted$/,
  ],
  ["a negative size", GOOD.replace('"size":2147483648', '"size":-1'), /^size is no whole number$/],
  ["a block without a type", GOOD.replace('"type":"memory",', ""), /^a block has no type$/],
  [
    "a text that was changed by hand",
    NEWEST.replace(String.raw`\"size\":2147483648`, String.raw`\"size\":2147483649`),
    /^could not load v3 checkpoint: checkpoint is corrupted$/,
  ],
  [
    "a checksum without its text",
    NEWEST.replace('"data":', '"other":'),
    /^could not load v3 checkpoint: checkpoint is corrupted$/,
  ],
  [
    "memory of whole pods, which the checksum leaves out",
    GOOD.replace('"checksum"', '"podEntries":{"p":{"memoryBlocks":[]}},"checksum"'),
    /^checkpoint is corrupted$/,
  ],
] as const)
  test(`memory_manager_state is not taken when it is ${name}`, () => {
    const read = parseMemory(text);
    assert.equal(read.kind, "broken");
    assert.match(read.kind === "broken" ? read.why : "", why);
  });

test("memory_manager_state is taken without a checksum, and of the version with whole pods where it has none", () => {
  const bare = GOOD.replace(/"checksum":\d+/, '"checksum":0');
  assert.equal(parseMemory(bare).kind, "read");
});

for (const [name, kept, real, expected] of [
  ["the same", withPod(twoNodes(), [0], GI), twoNodes(), "continued"],
  ["a group, spread in another way", respread(), twoNodes(), "continued"],
  ["nothing", { nodes: new Map(), pods: new Map() }, twoNodes(), "continued"],
  [
    "assignments without a machine",
    { ...withPod(twoNodes(), [0], GI), nodes: new Map() },
    twoNodes(),
    "[memorymanager] machine state can not be empty when it has memory assignments",
  ],
  [
    "a node that is gone",
    withPod(twoNodes(), [0, 1], 9 * GI),
    emptyState([{ id: 0, memoryBytes: 8 * GI, hugePages: [], reserved: new Map() }]),
    "[memorymanager] (pod: pod1, container: c1) the memory assignment uses the NUMA that does not exist",
  ],
  [
    "a type that is gone",
    {
      ...twoNodes(),
      pods: new Map([
        ["pod1", new Map([["c1", [{ nodes: [0], type: "hugepages-1Gi", size: GI }]]])],
      ]),
    },
    twoNodes(),
    "[memorymanager] (pod: pod1, container: c1) the memory assignment uses memory resource that does not exist",
  ],
  [
    "another reservation",
    withPod(twoNodes(), [0], GI),
    twoNodes(2 * GI),
    "[memorymanager] the expected machine state is different from the real one: NUMA node 0: systemReserved of memory was 1073741824 and is 2147483648",
  ],
  [
    "entries that do not add up",
    { ...withPod(twoNodes(), [0], GI), pods: new Map() },
    twoNodes(),
    "[memorymanager] the expected machine state is different from the real one: NUMA node 0: 1 assignments in the file, 0 by its entries",
  ],
  [
    "another size than is reserved",
    { ...withPod(twoNodes(), [0], GI), pods: withPod(twoNodes(), [0], 2 * GI).pods },
    twoNodes(),
    "[memorymanager] the expected machine state is different from the real one: NUMA node 0: reserved of memory is 1073741824 in the file and 2147483648 by its entries",
  ],
] as const)
  test(`assignments of a previous run: ${name}`, () => {
    const result = continueMemory({ policy: "Static", ...kept }, real);
    assert.equal(result.kind === "refused" ? result.why : result.kind, expected);
    if (result.kind === "continued" && kept.nodes.size > 0)
      assert.deepEqual(result.state, { nodes: kept.nodes, pods: kept.pods });
  });

/** Nine Gi on both nodes, of which the second gave more than it had to. */
function respread(): MemoryState {
  const state = withPod(twoNodes(), [0, 1], 9 * GI);
  const nodes = new Map(
    [...state.nodes].map(([id, node]) => {
      const memory = node.memory.get("memory");
      if (!memory) return [id, node];
      const by = id === 0 ? GI : -GI;
      const moved = { ...memory, free: memory.free + by, reserved: memory.reserved - by };
      return [id, { ...node, memory: new Map([["memory", moved]]) }];
    }),
  );
  return { ...state, nodes };
}

test("memory_manager_state holds memory of whole pods, of the version before and of the newest", () => {
  const wholePods = new Map([["pod", [{ nodes: [0], type: "memory", size: 512 }]]]);
  const value: KeptMemory = { ...EXAMPLE, wholePods };
  const { data, ...rest } = JSON.parse(encodeMemory(value));
  const { podEntries } = JSON.parse(data);
  assert.deepEqual(podEntries, {
    pod: { memoryBlocks: [{ numaAffinity: [0], type: "memory", size: 512 }] },
  });
  assert.equal(rest.checksum, 4_215_593_881, "older releases read the rest");
  assert.deepEqual(parseMemory(encodeMemory(value)), { kind: "read", value });
  const before = { ...rest, podEntries, checksum: 1_278_640_530, dataChecksum: undefined };
  assert.deepEqual(parseMemory(JSON.stringify(before)), { kind: "read", value });
});
