// pure
/**
 * Takes CPUs so that few parts of the machine are broken into: whole NUMA nodes and sockets, whole cores, then single
 * CPUs; of parts of one kind those with fewest free CPUs first. Source: cpu_assignment.go takeByTopologyNUMAPacked.
 * Whether a part is whole is judged by its own size, where the reference divides by averages.
 */
import type { MachineUnits, Unit } from "./units.ts";

/** How single CPUs and groups are preferred. */
export interface TakeStyle {
  /** One thread of each core before the second of any (`distribute-cpus-across-cores`). */
  readonly spread: boolean;
  /** Whole L3 groups, or few of them (`prefer-align-cpus-by-uncorecache`). */
  readonly alignCaches: boolean;
}

/** CPUs that were taken, ascending, or how many there were instead. */
export type Taken =
  | { readonly ok: true; readonly cpus: readonly number[] }
  | { readonly ok: false; readonly error: string };

/** Too few CPUs are left. */
export function notEnough(requested: number, available: number): Taken {
  const error = `not enough cpus available to satisfy request: requested=${requested}, available=${available}`;
  return { ok: false, error };
}

/** Takes `count` of the CPUs in `available`. */
export function takePacked(
  units: MachineUnits,
  available: Iterable<number>,
  count: number,
  style: TakeStyle,
): Taken {
  const taking = new Taking(units, available, count);
  if (count <= 0) return { ok: true, cpus: [] };
  if (taking.free.size < count) return notEnough(count, taking.free.size);
  const [larger, smaller] =
    units.socket.length >= units.node.length
      ? ([() => taking.nodes(), () => taking.sockets()] as const)
      : ([() => taking.sockets(), () => taking.nodes()] as const);
  taking.takeWhole(larger());
  taking.takeWhole(smaller());
  if (style.alignCaches) takeCaches(taking);
  if (!style.spread) taking.takeWhole(taking.cores());
  taking.takeSingles(style.spread);
  return { ok: true, cpus: [...taking.taken].sort(byNumber) };
}

/** Parts of the machine in the order in which they are broken into, while CPUs are taken. */
class Taking {
  readonly units: MachineUnits;
  readonly free: Set<number>;
  readonly taken: number[] = [];
  need: number;

  constructor(units: MachineUnits, available: Iterable<number>, need: number) {
    this.units = units;
    this.free = new Set(available);
    this.need = need;
  }

  freeOf({ cpus }: Unit): readonly number[] {
    return cpus.filter((cpu) => this.free.has(cpu));
  }

  /** Fewest free CPUs first. */
  sorted(units: readonly Unit[]): readonly Unit[] {
    return units
      .map((unit) => ({ unit, count: this.freeOf(unit).length }))
      .sort((a, b) => a.count - b.count || a.unit.id - b.unit.id)
      .map(({ unit }) => unit);
  }

  nodes(): readonly Unit[] {
    const { node, socket } = this.units;
    if (socket.length >= node.length) return this.sorted(node);
    return this.#within(this.sorted(socket), node, "node");
  }

  sockets(): readonly Unit[] {
    const { node, socket } = this.units;
    if (socket.length < node.length) return this.sorted(socket);
    return this.#within(this.sorted(node), socket, "socket");
  }

  caches(): readonly Unit[] {
    return this.#within(this.nodes(), this.units.cache, "cache");
  }

  cores(): readonly Unit[] {
    const { node, socket, core } = this.units;
    return socket.length >= node.length
      ? this.#within(this.sockets(), core, "core")
      : this.#within(this.nodes(), core, "core");
  }

  take(cpus: readonly number[]): void {
    for (const cpu of cpus) {
      this.free.delete(cpu);
      this.taken.push(cpu);
    }
    this.need -= cpus.length;
  }

  /** Each of the parts that is entirely free and not larger than what is still needed. */
  takeWhole(units: readonly Unit[]): void {
    const whole = units.filter((unit) => this.freeOf(unit).length === unit.cpus.length);
    for (const { cpus } of whole) if (cpus.length <= this.need) this.take(cpus);
  }

  takeSingles(spread: boolean): void {
    if (this.need === 0) return;
    const parts = spread ? this.sockets() : this.cores();
    const order = parts.flatMap((unit) => this.freeOf(unit));
    this.take(order.slice(0, this.need));
  }

  /** Parts of each of the larger ones in turn, in each those with fewest free CPUs first. */
  #within(
    larger: readonly Unit[],
    parts: readonly Unit[],
    kind: "node" | "socket" | "cache" | "core",
  ): readonly Unit[] {
    const byId = new Map(parts.map((unit) => [unit.id, unit]));
    const seen = new Set<number>();
    return larger.flatMap(({ cpus }) => {
      const inside = new Set<Unit>();
      for (const id of cpus) {
        const cpu = this.units.cpus.get(id);
        const part = cpu && byId.get(cpu[kind]);
        if (part && !seen.has(part.id)) inside.add(part);
      }
      for (const { id } of inside) seen.add(id);
      return this.sorted([...inside]);
    });
  }
}

/** Whole L3 groups while the need is as large, then a group that has exactly what is left. */
function takeCaches(taking: Taking): void {
  for (const cache of taking.caches()) {
    if (taking.need === 0) return;
    taking.takeWhole(taking.caches());
    if (taking.need === 0) return;
    takePart(taking, cache);
  }
}

/** What is needed out of one group, whole cores of it where possible; nothing when it does not fit. */
function takePart(taking: Taking, { cpus }: Unit): void {
  const { units, need } = taking;
  const { threadsPerCore } = units;
  const cores = new Set<number>();
  for (const id of cpus) {
    const cpu = units.cpus.get(id);
    if (cpu && taking.free.has(id)) cores.add(cpu.core);
  }
  const wanted = Math.ceil(need / threadsPerCore);
  const chosen = new Set([...cores].sort(byNumber).slice(0, wanted));
  const free = cpus.filter(
    (id) => taking.free.has(id) && chosen.has(units.cpus.get(id)?.core ?? Number.NaN),
  );
  if (need % 2 === 1 && threadsPerCore > 1 && free.length > need) free.pop();
  if (free.length === need) taking.take(free);
}

function byNumber(a: number, b: number): number {
  return a - b;
}
