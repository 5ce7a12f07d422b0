import assert from "node:assert/strict";
import { test } from "node:test";
import { UsageError } from "../../kit/errors.ts";
import { type NodeSources, readNodes } from "./read-nodes.ts";

const MI = 2 ** 20;
const nodeOf = (id: number, size: number, pages: number) => ({
  id,
  cpus: [id],
  memoryBytes: size * MI,
  hugePages: [{ pageSizeBytes: 2 * MI, pages }],
  distances: undefined,
});

const SOURCES: NodeSources = {
  nodes: [nodeOf(0, 4, 1), nodeOf(1, 8, 0)],
  reserved: [
    { numaNode: 0, limits: { memory: "1Mi" } },
    { numaNode: 1, limits: { memory: "512Ki" } },
  ],
  keptBytes: 1.5 * MI,
};

test("readNodes reads memory and huge pages of each node", () => {
  const type = "hugepages-2Mi";
  assert.deepEqual(readNodes(SOURCES), [
    {
      id: 0,
      memoryBytes: 4 * MI,
      hugePages: [{ type, bytes: 2 * MI }],
      reserved: new Map([["memory", MI]]),
    },
    {
      id: 1,
      memoryBytes: 8 * MI,
      hugePages: [{ type, bytes: 0 }],
      reserved: new Map([["memory", MI / 2]]),
    },
  ]);
});

const reserve = (memory: string, numaNode = 0) => [{ numaNode, limits: { memory } }];

for (const [name, change, message] of [
  [
    "a node that the machine does not have",
    { reserved: reserve("1536Ki", 2) },
    "reservedMemory: the reserved memory configuration references a NUMA node 2 that does not exist on this machine; it has 0, 1",
  ],
  [
    "another sum than is kept",
    { reserved: reserve("12") },
    'reservedMemory: the total amount "12" of type "memory" is not equal to the value "1572864" determined by Node Allocatable feature; it is the sum of systemReserved, kubeReserved and evictionHard[memory.available]',
  ],
  [
    "nothing reserved and nothing kept",
    { reserved: [], keptBytes: 0 },
    "reservedMemory: [memorymanager] you should specify the system reserved memory; e.g. reserve what evictionHard[memory.available] keeps",
  ],
  [
    "more than a node has",
    { reserved: reserve("3Mi"), keptBytes: 3 * MI },
    "reservedMemory: 3145728 of memory are reserved on NUMA node 0, which has 2097152; reserve less there, and more on another node",
  ],
  [
    "too many nodes",
    { nodes: [...Array(17).keys()].map((id) => nodeOf(id, 1, 0)) },
    "memoryManagerPolicy: Static works with at most 16 NUMA nodes, this machine has 17; set it to None",
  ],
] as const)
  test(`readNodes refuses ${name}`, () => {
    assert.throws(() => readNodes({ ...SOURCES, ...change }), new UsageError(message));
  });
