import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { MachineTopology } from "../../api/node/machine-topology.ts";
import { readingTree, readMachineTopology } from "./read-machine.ts";

const GIB_KIB = 1024 * 1024;

/** What each machine has: sockets, cores, groups of L3, nodes, and a few CPUs as [id, core, socket, node, cache]. */
const MACHINES: readonly [
  string,
  { readonly counts: readonly number[]; readonly cpus: readonly (readonly number[])[] },
][] = [
  [
    "laptop",
    {
      counts: [16, 12, 1, 1, 1],
      cpus: [
        [1, 0, 0, 0, 0],
        [15, 15, 0, 0, 0],
      ],
    },
  ],
  [
    "two-sockets",
    {
      counts: [40, 20, 2, 2, 2],
      cpus: [
        [21, 1, 1, 1, 1],
        [38, 18, 0, 0, 0],
      ],
    },
  ],
  ["several-l3", { counts: [32, 16, 1, 4, 1], cpus: [[23, 7, 0, 0, 4]] }],
  // Without L3 the socket counts as one group; the numbers of sockets are the firmware's.
  [
    "arm",
    {
      counts: [16, 16, 2, 2, 2],
      cpus: [
        [3, 3, 36, 0, 0],
        [15, 15, 256, 1, 8],
      ],
    },
  ],
  [
    "eight-nodes",
    {
      counts: [128, 64, 2, 16, 8],
      cpus: [
        [127, 63, 1, 7, 60],
        [64, 0, 0, 0, 0],
      ],
    },
  ],
  // The siblings of CPUs 4 and 6 are offline, node 1 does not exist and node 3 has memory only.
  [
    "asymmetric",
    {
      counts: [8, 6, 2, 2, 3],
      cpus: [
        [6, 6, 0, 0, 0],
        [8, 8, 1, 2, 8],
      ],
    },
  ],
  ["virtual", { counts: [2, 2, 1, 1, 1], cpus: [[1, 1, 0, 0, 0]] }],
];

for (const [name, { counts, cpus }] of MACHINES) {
  test(`topology of the machine "${name}"`, () => {
    const machine = readTree(name);
    const count = (values: readonly number[]) => new Set(values).size;
    const each = machine.cpus;
    assert.deepEqual(
      [
        each.length,
        count(each.map(({ core }) => core)),
        count(each.map(({ socket }) => socket)),
        count(each.map(({ cache }) => cache)),
        machine.nodes.length,
      ],
      counts,
    );
    for (const [id, core, socket, node, cache] of cpus)
      assert.deepEqual(
        each.find((cpu) => cpu.id === id),
        { id, core, socket, node, cache },
      );
    const ofNodes = machine.nodes.flatMap((node) => node.cpus).sort((a, b) => a - b);
    assert.deepEqual(
      ofNodes,
      each.map(({ id }) => id),
    );
  });
}

test("nodes have their memory, huge pages and distances; numbers need not follow one another", () => {
  const { nodes } = readTree("asymmetric");
  assert.deepEqual(nodes, [
    {
      id: 0,
      cpus: [0, 1, 2, 3, 4, 6],
      memoryBytes: 16_318_352 * 1024,
      hugePages: [
        { pageSizeBytes: 2 ** 21, pages: 0 },
        { pageSizeBytes: 2 ** 30, pages: 0 },
      ],
      distances: [10, 20, 17],
    },
    {
      id: 2,
      cpus: [8, 9],
      memoryBytes: 8_120_000 * 1024,
      hugePages: [{ pageSizeBytes: 2 ** 21, pages: 128 }],
      distances: [20, 10, 28],
    },
    {
      id: 3,
      cpus: [],
      memoryBytes: 64 * GIB_KIB * 1024,
      hugePages: [
        { pageSizeBytes: 2 ** 21, pages: 0 },
        { pageSizeBytes: 2 ** 30, pages: 0 },
      ],
      distances: [17, 28, 10],
    },
  ]);
  const sizes = readTree("arm").nodes[0]?.hugePages.map(({ pageSizeBytes }) => pageSizeBytes);
  assert.deepEqual(sizes, [2 ** 16, 2 ** 21, 2 ** 25, 2 ** 30]);
});

test("a kernel that says little has one socket, one node and cores of one thread", () => {
  const files: Record<string, string> = {
    "/sys/devices/system/cpu/online": "0-1",
    "/sys/devices/system/cpu/cpu0/topology/physical_package_id": "-1",
    "/proc/meminfo": "MemTotal:        1024 kB\nMemFree:          512 kB",
    "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "3",
  };
  assert.deepEqual(
    readMachineTopology((path) => files[path]),
    {
      cpus: [0, 1].map((id) => ({ id, core: id, socket: 0, node: 0, cache: 0 })),
      nodes: [
        {
          id: 0,
          cpus: [0, 1],
          memoryBytes: 2 ** 20,
          hugePages: [{ pageSizeBytes: 2 ** 21, pages: 3 }],
          distances: undefined,
        },
      ],
    },
  );
});

function readTree(name: string): MachineTopology {
  const path = new URL(`./testdata/${name}.tree`, import.meta.url);
  return readMachineTopology(readingTree(readFileSync(path, "utf8")));
}
