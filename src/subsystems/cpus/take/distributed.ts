// pure
/**
 * Takes CPUs evenly from as few NUMA nodes as can give them (`distribute-cpus-across-numa`). With `align-by-socket` nodes of one
 * socket come before all others, and each gives the even share as far as it has it.
 * Source: cpu_assignment.go takeByTopologyNUMADistributed; sets that are scored are sets that are taken, and a rest that no
 * node can give ends the search of a set, where the reference may score another set or go on for ever.
 */
import { appendAll, smallest } from "../../../kit/limits/lists.ts";
import { combinations } from "./combinations.ts";
import { notEnough, type Taken, type TakeStyle, takePacked } from "./packed.ts";
import type { MachineUnits, Unit } from "./units.ts";

/** How CPUs are spread over nodes. */
interface DistributeStyle {
  /** Of the CPUs of one node. */
  readonly style: TakeStyle;
  /** CPUs that stay together. */
  readonly group: number;
  /** Rather from one socket than evenly. */
  readonly alignSockets: boolean;
}

/** Evenly over nodes, or packed where no set of nodes can give as many each. */
export function takeDistributed(
  units: MachineUnits,
  available: Iterable<number>,
  count: number,
  how: DistributeStyle,
): Taken {
  const { style, group } = how;
  const free = new Set(available);
  if (count <= 0) return { ok: true, cpus: [] };
  if (free.size < count) return notEnough(count, free.size);
  const pack = () => takePacked(units, free, count, style);
  if (count % group !== 0) return pack();
  const search = new Search(units, free, { ...how, count });
  const best = search.run();
  return best ? search.take(best, style) : pack();
}

/** Nodes that give as many each, and those that give the rest in turn. */
interface Distribution {
  readonly members: readonly Unit[];
  readonly each: number;
  readonly rest: readonly Unit[];
  readonly restCount: number;
  /** How uneven the nodes are afterwards. */
  readonly score: number;
  /** Whether it is one socket that counts, and the members are of one. */
  readonly inOneSocket: boolean;
}

class Search {
  readonly #units: MachineUnits;
  readonly #free: ReadonlySet<number>;
  readonly #count: number;
  readonly #group: number;
  readonly #alignSockets: boolean;
  readonly #nodes: readonly Unit[];
  readonly #freeOf: ReadonlyMap<number, number>;

  constructor(
    units: MachineUnits,
    free: ReadonlySet<number>,
    { count, group, alignSockets }: DistributeStyle & { readonly count: number },
  ) {
    this.#units = units;
    this.#free = free;
    this.#count = count;
    this.#group = group;
    this.#alignSockets = alignSockets;
    this.#freeOf = new Map(units.node.map((node) => [node.id, this.#freeIn(node).length]));
    this.#nodes = nodesInOrder(units, (unit) => this.#freeIn(unit).length);
  }

  /** The most even of the smallest sets of nodes. */
  run(): Distribution | undefined {
    const groups = Math.ceil(this.#count / this.#group);
    const perNode = Math.ceil(
      Math.ceil(this.#units.cpus.size / this.#group) / this.#units.node.length,
    );
    const withFree = this.#nodes.filter(({ id }) => (this.#freeOf.get(id) ?? 0) > 0).length;
    const most = Math.min(groups, withFree);
    for (let size = Math.ceil(groups / perNode); size <= most; size += 1) {
      const best = this.#bestOf(size);
      if (best) return best;
    }
    return undefined;
  }

  #bestOf(size: number): Distribution | undefined {
    let best: Distribution | undefined;
    for (const members of combinations(this.#nodes, size)) {
      const found = this.#distribute(members);
      if (found && (best === undefined || isBetter(found, best))) best = found;
      if (best?.score === 0 && best.inOneSocket === this.#alignSockets) break;
    }
    return best;
  }

  #distribute(members: readonly Unit[]): Distribution | undefined {
    const [count, group] = [this.#count, this.#group];
    const free = members.map(({ id }) => this.#freeOf.get(id) ?? 0);
    const whole = free.map((each) => Math.floor(each / group) * group);
    if (total(free) < count || total(whole) < count) return undefined;
    const even = Math.floor(Math.floor(count / members.length) / group) * group;
    const each = this.#alignSockets ? Math.min(even, smallest(whole)) : even;
    if (free.some((own) => own < each)) return undefined;
    const after = new Map(this.#freeOf);
    for (const { id } of members) after.set(id, (after.get(id) ?? 0) - each);
    const restCount = count - each * members.length;
    const score = deviation([...after.values()]);
    const inOneSocket = this.#alignSockets && this.#areInOneSocket(members);
    const shared = { members, each, rest: [], restCount, score, inOneSocket };
    return restCount === 0 ? shared : this.#withRest(shared, after);
  }

  #areInOneSocket(nodes: readonly Unit[]): boolean {
    const cpus = nodes.flatMap((node) => node.cpus);
    return new Set(cpus.map((cpu) => this.#units.cpus.get(cpu)?.socket)).size === 1;
  }

  /** The rest goes, a group at a time, to those members where it leaves the nodes most even. */
  #withRest(base: Distribution, after: ReadonlyMap<number, number>): Distribution | undefined {
    const leftIn = ({ id }: Unit) => after.get(id) ?? 0;
    const able = base.members.filter((node) => leftIn(node) >= this.#group);
    let best: Distribution | undefined;
    for (let size = able.length; size >= 1; size -= 1) {
      for (const rest of combinations(able, size)) {
        if (total(rest.map(leftIn)) < base.restCount) continue;
        const left = new Map(after);
        if (!handOut(left, rest, base.restCount, this.#group)) continue;
        const score = deviation([...left.values()]);
        if (best === undefined || score < best.score) best = { ...base, rest, score };
      }
    }
    return best;
  }

  take({ members, each, rest, restCount }: Distribution, style: TakeStyle): Taken {
    const free = new Set(this.#free);
    const taken: number[] = [];
    const takeFrom = ({ cpus }: Unit, count: number): boolean => {
      const own = cpus.filter((cpu) => free.has(cpu));
      if (own.length < count) return false;
      const part = takePacked(this.#units, own, count, style);
      if (!part.ok) return false;
      for (const cpu of part.cpus) free.delete(cpu);
      appendAll(taken, part.cpus);
      return true;
    };
    for (const node of members) takeFrom(node, each);
    for (let left = restCount, gave = true; left > 0 && gave; ) {
      gave = false;
      for (const node of rest) {
        if (left <= 0 || !takeFrom(node, this.#group)) continue;
        left -= this.#group;
        gave = true;
      }
    }
    const missing = this.#count - taken.length;
    if (missing !== 0) {
      const error = `accounting error, not enough CPUs allocated, remaining: ${missing}`;
      return { ok: false, error };
    }
    return { ok: true, cpus: taken.sort((a, b) => a - b) };
  }

  #freeIn({ cpus }: Unit): readonly number[] {
    return cpus.filter((cpu) => this.#free.has(cpu));
  }
}

function isBetter(candidate: Distribution, current: Distribution): boolean {
  return candidate.inOneSocket === current.inOneSocket
    ? candidate.score < current.score
    : candidate.inOneSocket;
}

/** Takes a group at a time from each in turn; whether all of `count` could be given. */
function handOut(
  left: Map<number, number>,
  from: readonly Unit[],
  count: number,
  group: number,
): boolean {
  let rest = count;
  while (rest > 0) {
    const before = rest;
    for (const { id } of from) {
      const own = left.get(id) ?? 0;
      if (rest <= 0 || own < group) continue;
      left.set(id, own - group);
      rest -= group;
    }
    if (rest === before) return false;
  }
  return true;
}

/** Nodes with fewest free CPUs first; where sockets hold several, those of the sockets with fewest first. */
function nodesInOrder(units: MachineUnits, freeIn: (unit: Unit) => number): readonly Unit[] {
  const { node, socket, cpus } = units;
  const socketFree = new Map(socket.map((unit) => [unit.id, freeIn(unit)]));
  const rank = (unit: Unit): readonly number[] => {
    const own = cpus.get(unit.cpus[0] ?? -1)?.socket ?? 0;
    const place = socket.length >= node.length ? [] : [socketFree.get(own) ?? 0, own];
    return [...place, freeIn(unit), unit.id];
  };
  return [...node].sort((a, b) => compareRanks(rank(a), rank(b)));
}

function compareRanks(a: readonly number[], b: readonly number[]): number {
  for (const [at, value] of a.entries()) {
    const difference = value - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Standard deviation; mean and result count to three decimals, so that nearly even is as good as even. */
function deviation(values: readonly number[]): number {
  const mean = thousandths(total(values) / values.length);
  const squares = values.map((value) => (value - mean) ** 2);
  return thousandths(Math.sqrt(total(squares) / values.length));
}

function thousandths(value: number): number {
  return Math.round(value * 1000) / 1000;
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
