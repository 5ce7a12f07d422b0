// pure
/** Which CPUs a request gets, by the options of the static policy. */
import type { CpuOptions } from "../options.ts";
import { takeDistributed } from "./distributed.ts";
import { type Taken, takePacked } from "./packed.ts";
import type { MachineUnits, Unit } from "./units.ts";

/** Takes `count` of the CPUs in `available` as the options say. */
export function takeCpus(
  units: MachineUnits,
  available: Iterable<number>,
  count: number,
  options: CpuOptions,
): Taken {
  const style = { spread: options.spreadCores, alignCaches: options.alignCaches };
  if (!options.distributeNuma) return takePacked(units, available, count, style);
  const group = options.fullCores ? units.threadsPerCore : 1;
  const { alignSockets } = options;
  return takeDistributed(units, available, count, { style, group, alignSockets });
}

/** Close to these NUMA nodes as far as they have enough, the rest from anywhere. */
export function takeNear(
  units: MachineUnits,
  available: readonly number[],
  request: { readonly count: number; readonly nodes: readonly number[] | undefined },
  options: CpuOptions,
): Taken {
  const { count, nodes } = request;
  if (nodes === undefined) return takeCpus(units, available, count, options);
  const near = nearCpus(units, nodes, options.alignSockets);
  const aligned = available.filter((cpu) => near.has(cpu));
  const first = takeCpus(units, aligned, Math.min(count, aligned.length), options);
  if (!first.ok) return first;
  const taken = new Set(first.cpus);
  const others = available.filter((cpu) => !taken.has(cpu));
  const rest = takeCpus(units, others, count - taken.size, options);
  if (!rest.ok) return rest;
  return { ok: true, cpus: [...taken, ...rest.cpus].sort((a, b) => a - b) };
}

/** CPUs of the nodes, or of all sockets that the nodes are part of. */
function nearCpus(
  units: MachineUnits,
  nodes: readonly number[],
  alignSockets: boolean,
): ReadonlySet<number> {
  const own = cpusOf(units.node.filter(({ id }) => nodes.includes(id)));
  if (!alignSockets) return own;
  return cpusOf(units.socket.filter(({ cpus }) => cpus.some((cpu) => own.has(cpu))));
}

function cpusOf(units: readonly Unit[]): Set<number> {
  return new Set(units.flatMap(({ cpus }) => cpus));
}
