// pure
/** Parts of the machine that CPUs are taken from, each with its CPUs. */
import type { LogicalCpu, MachineTopology } from "../../../api/node/machine-topology.ts";
import { derivedOnce } from "../../../kit/derived-once.ts";

/** Kinds of parts, from larger to smaller; which of the first two is larger depends on the machine. */
type UnitKind = "node" | "socket" | "cache" | "core";

/** A part of the machine: a NUMA node, a socket, the cores of one L3 cache, or a core. */
export interface Unit {
  readonly id: number;
  readonly cpus: readonly number[];
}

/** All parts of a machine that have CPUs, by kind, ascending. */
export interface MachineUnits {
  readonly cpus: ReadonlyMap<number, LogicalCpu>;
  readonly node: readonly Unit[];
  readonly socket: readonly Unit[];
  readonly cache: readonly Unit[];
  readonly core: readonly Unit[];
  /** Most threads that a core has. */
  readonly threadsPerCore: number;
}

/** The parts of a machine, worked out once for each. */
export const unitsOf = derivedOnce(({ cpus }: MachineTopology): MachineUnits => {
  const group = (kind: UnitKind): readonly Unit[] => {
    const members = new Map<number, number[]>();
    for (const cpu of cpus) {
      const found = members.get(cpu[kind]);
      if (found) found.push(cpu.id);
      else members.set(cpu[kind], [cpu.id]);
    }
    return [...members].map(([id, own]) => ({ id, cpus: own })).sort((a, b) => a.id - b.id);
  };
  const core = group("core");
  return {
    cpus: new Map(cpus.map((cpu) => [cpu.id, cpu])),
    node: group("node"),
    socket: group("socket"),
    cache: group("cache"),
    core,
    threadsPerCore: core.reduce((most, unit) => Math.max(most, unit.cpus.length), 1),
  };
});
