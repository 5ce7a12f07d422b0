// pure
/** The memory of each NUMA node and what is reserved of it, as policy Static needs them. */

import { hugepagesName } from "../../api/node/hugepages-name.ts";
import type { MachineTopology } from "../../api/node/machine-topology.ts";
import { quoted } from "../../api/text/go-quote.ts";
import { wholeOf } from "../../api/text/quantity.ts";
import { UsageError } from "../../kit/errors.ts";
import { MEMORY, type NumaCapacity } from "./memory-state.ts";

/** The machine and the settings. */
export interface NodeSources {
  readonly nodes: MachineTopology["nodes"];
  readonly reserved: readonly {
    readonly numaNode: number;
    readonly limits: Readonly<Record<string, string>>;
  }[];
  /** Memory that is kept from pods: by both reservations and by the hard threshold of eviction, bytes. */
  readonly keptBytes: number;
}

/** More nodes make too many sets of them. */
const MAX_NODES = 16;

/** Throws `UsageError` where the reservations do not fit the machine. */
export function readNodes(sources: NodeSources): readonly NumaCapacity[] {
  const { nodes, reserved, keptBytes } = sources;
  if (nodes.length > MAX_NODES)
    throw new UsageError(
      `memoryManagerPolicy: Static works with at most ${MAX_NODES} NUMA nodes, this machine has ${nodes.length}; set it to None`,
    );
  const ids = nodes.map(({ id }) => id);
  const unknown = reserved.find(({ numaNode }) => !ids.includes(numaNode));
  if (unknown)
    throw refusal(
      `the reserved memory configuration references a NUMA node ${unknown.numaNode} that does not exist on this machine`,
      `it has ${ids.join(", ")}`,
    );
  const total = reserved.reduce((sum, { limits }) => sum + wholeOf(limits[MEMORY] ?? "0"), 0);
  if (total !== keptBytes)
    throw refusal(
      `the total amount ${quoted(`${total}`)} of type ${quoted(MEMORY)} is not equal to the value ${quoted(`${keptBytes}`)} determined by Node Allocatable feature`,
      "it is the sum of systemReserved, kubeReserved and evictionHard[memory.available]",
    );
  if (total === 0)
    throw refusal(
      "[memorymanager] you should specify the system reserved memory",
      "e.g. reserve what evictionHard[memory.available] keeps",
    );
  const capacities = nodes.map((node) => capacityOf(node, reserved));
  for (const capacity of capacities) refuseTooMuch(capacity);
  return capacities;
}

const refusal = (why: string, fix: string) => new UsageError(`reservedMemory: ${why}; ${fix}`);

function capacityOf(
  { id, memoryBytes, hugePages }: MachineTopology["nodes"][number],
  reserved: NodeSources["reserved"],
): NumaCapacity {
  const limits = reserved.filter(({ numaNode }) => numaNode === id);
  return {
    id,
    memoryBytes,
    hugePages: hugePages.map(({ pageSizeBytes, pages }) => ({
      type: hugepagesName(pageSizeBytes),
      bytes: pageSizeBytes * pages,
    })),
    reserved: new Map(
      limits.flatMap((each) =>
        Object.entries(each.limits).map(([type, text]): [string, number] => [type, wholeOf(text)]),
      ),
    ),
  };
}

/** A node cannot have less than nothing. */
function refuseTooMuch({ id, memoryBytes, hugePages, reserved }: NumaCapacity): void {
  const inHugePages = hugePages.reduce((sum, { bytes }) => sum + bytes, 0);
  const has = new Map([
    [MEMORY, memoryBytes - inHugePages],
    ...hugePages.map(({ type, bytes }): [string, number] => [type, bytes]),
  ]);
  for (const [type, bytes] of reserved)
    if (bytes > (has.get(type) ?? 0))
      throw refusal(
        `${bytes} of ${type} are reserved on NUMA node ${id}, which has ${has.get(type) ?? 0}`,
        "reserve less there, and more on another node",
      );
}
