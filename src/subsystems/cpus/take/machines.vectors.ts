// pure
/** Machines of the vectors, by the letters that the tables use. */
import type { LogicalCpu, MachineTopology } from "../../../api/node/machine-topology.ts";

type Place = Omit<LogicalCpu, "id">;

/** A machine whose CPU `id` stands at `place(id)`. */
export function machineOf(count: number, place: (id: number) => Place): MachineTopology {
  const cpus = Array.from({ length: count }, (_, id) => ({ id, ...place(id) }));
  const ids = [...new Set(cpus.map(({ node }) => node))].sort((a, b) => a - b);
  const nodes = ids.map((id) => ({
    id,
    cpus: cpus.filter(({ node }) => node === id).map((cpu) => cpu.id),
    memoryBytes: 2 ** 33,
    hugePages: [],
    distances: ids.map((other) => (other === id ? 10 : 20)),
  }));
  return { cpus, nodes };
}

const one = { socket: 0, node: 0, cache: 0 };

/** The machines. */
export const MACHINES = {
  A: machineOf(8, (id) => ({ ...one, core: id % 4 })),
  B: machineOf(12, (id) => ({ core: id % 6, socket: id % 2, node: id % 2, cache: id % 2 })),
  C: machineOf(8, (id) => ({ core: id, socket: id >> 2, node: id >> 2, cache: id & ~3 })),
  D: machineOf(80, (id) => {
    const core = id % 40;
    const node = Math.floor(core / 10);
    return { core, node, socket: node >> 1, cache: node >> 1 };
  }),
  E: machineOf(16, (id) => ({ ...one, core: id, cache: id & ~3 })),
  F: machineOf(16, (id) => ({ core: id, node: 0, socket: id >> 3, cache: id & ~3 })),
  G: machineOf(16, (id) => ({ core: id, socket: 0, node: id >> 3, cache: id & ~3 })),
  H: machineOf(16, (id) => ({ ...one, core: id % 8, cache: id & 4 })),
  I: machineOf(24, (id) => ({ ...one, core: id < 16 ? id : id - 8 })),
  J: machineOf(256, (id) => {
    const core = id % 128;
    return { core, node: core >> 4, socket: core >> 6, cache: core >> 6 };
  }),
  K: machineOf(128, (id) => ({ ...one, core: id % 64, cache: id & 63 & ~3 })),
  L: machineOf(256, (id) => ({ ...one, core: id % 128, cache: id & 127 & ~7 })),
  M: machineOf(64, (id) => ({ core: id, socket: id >> 5, node: id >> 5, cache: id & ~7 })),
  N: machineOf(192, (id) => {
    const node = Math.floor(id / 48);
    return { core: id, node, socket: node, cache: id & ~7 };
  }),
  O: machineOf(80, (id) => {
    const node = id % 4;
    return { core: id % 40, node, socket: node & 1, cache: node & 1 };
  }),
} as const;
