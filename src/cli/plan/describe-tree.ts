// pure
import type { MachineTopology } from "../../api/node/machine-topology.ts";
import type { DescribedNode } from "./read-node.ts";

const USUAL_PAGE_BYTES = 4096;
/** Nothing is known of the disk: no request is to be refused for it. */
const DISK_BYTES = 2 ** 50;

/** A machine out of its topology, as far as that goes. */
export function describeTree({ cpus, nodes }: MachineTopology): DescribedNode {
  const count = (values: readonly number[]) => new Set(values).size;
  const pages = new Map<number, number>();
  for (const { hugePages } of nodes)
    for (const { pageSizeBytes, pages: own } of hugePages)
      pages.set(pageSizeBytes, (pages.get(pageSizeBytes) ?? 0) + own);
  return {
    name: "node",
    labels: {},
    storageBytes: DISK_BYTES,
    facts: {
      hostname: "node",
      cpuCount: cpus.length,
      physicalCores: count(cpus.map(({ core }) => core)),
      cpuSockets: count(cpus.map(({ socket }) => socket)),
      memoryBytes: nodes.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0),
      swapBytes: 0,
      kernelVersion: "",
      osImage: "",
      architecture: "",
      bootId: "",
      machineId: "",
      systemUuid: "",
      pageBytes: USUAL_PAGE_BYTES,
      pidMax: 0,
      hugepages: [...pages].map(([sizeBytes, own]) => ({ sizeBytes, pages: own })),
      thermalThrottleFolders: [],
      inUserNamespace: false,
    },
  };
}
