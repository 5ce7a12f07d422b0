// A second allocator, slow and without any order of its own: of all sets of as many CPUs it finds the best that there is.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { LogicalCpu } from "../../../api/node/machine-topology.ts";
import { createSeededRandom } from "../../../kit/random.ts";
import { type CpuOptions, cpuOptionsOf } from "../options.ts";
import { machineOf } from "./machines.vectors.ts";
import { takeNear } from "./take-cpus.ts";
import { unitsOf } from "./units.ts";

const CASES = Number(process.env["NODELET_CPU_CASES"] ?? 3_000);

type Kind = "node" | "socket" | "cache" | "core";

/** Whole parts that count, the most important first, after those of the two largest kinds. */
const FAMILIES: readonly (readonly [name: string, parts: readonly Kind[]])[] = [
  ["", ["core"]],
  ["full-pcpus-only", ["core"]],
  ["distribute-cpus-across-cores", []],
  ["prefer-align-cpus-by-uncorecache", ["cache"]],
];

/** A small machine, what is free on it, and a request. */
interface Case {
  readonly about: string;
  readonly cpus: readonly LogicalCpu[];
  readonly machine: ReturnType<typeof machineOf>;
  readonly free: readonly number[];
  readonly count: number;
}

function caseOf(seed: number, wholeCores: boolean): Case | undefined {
  const random = createSeededRandom(seed);
  const pick = (from: number, to: number) => from + Math.floor(random.next() * (to - from + 1));
  const [larger, smaller, threads] = [pick(1, 2), pick(1, 3), pick(1, 2)];
  const coresPer = pick(1, Math.max(1, Math.floor(12 / (larger * smaller * threads))));
  const isNodeLarger = random.next() < 0.5;
  const groups = coresPer % 2 === 0 ? pick(1, 2) : 1;
  const cores = larger * smaller * coresPer;
  const machine = machineOf(cores * threads, (id) => {
    const core = id % cores;
    const part = Math.floor(core / coresPer);
    const whole = Math.floor(part / smaller);
    const cache = part * groups + Math.floor(((core % coresPer) * groups) / coresPer);
    const [node, socket] = isNodeLarger ? [whole, part] : [part, whole];
    return { core, node, socket, cache };
  });
  const { cpus } = machine;
  const freeCores = new Set(cpus.map(({ core }) => core).filter(() => random.next() < 0.6));
  const free = cpus
    .filter(({ core }) => (wholeCores ? freeCores.has(core) : random.next() < 0.75))
    .map(({ id }) => id);
  if (free.length === 0) return undefined;
  const any = pick(1, free.length);
  const count = wholeCores ? Math.max(threads, any - (any % threads)) : any;
  const about = `seed ${seed}: ${count} of ${free} of ${cpus.length} CPUs`;
  return { about, cpus, machine, free, count };
}

const maskOfCpus = (cpus: readonly number[]) => cpus.reduce((mask, cpu) => mask | (1 << cpu), 0);

/** Masks of the parts of one kind that are free as a whole. */
function wholeParts({ cpus, free }: Case, kind: Kind): readonly number[] {
  const all = maskOfCpus(free);
  return [...Map.groupBy(cpus, (cpu) => cpu[kind]).values()]
    .map((members) => maskOfCpus(members.map(({ id }) => id)))
    .filter((mask) => (mask & all) === mask);
}

/** How many whole parts of each kind the CPUs hold. */
function scoreOf(taken: number, parts: readonly (readonly number[])[]): readonly number[] {
  return parts.map((masks) => masks.filter((mask) => (taken & mask) === mask).length);
}

/** The best score of all sets of so many of the CPUs. */
function bestScore(
  free: readonly number[],
  count: number,
  parts: readonly (readonly number[])[],
): readonly number[] {
  let best: readonly number[] | undefined;
  const visit = (at: number, taken: number, missing: number): void => {
    if (missing === 0) {
      const score = scoreOf(taken, parts);
      if (best === undefined || compare(score, best) > 0) best = score;
      return;
    }
    if (free.length - at < missing) return;
    visit(at + 1, taken | (1 << (free[at] ?? 0)), missing - 1);
    visit(at + 1, taken, missing);
  };
  visit(0, 0, count);
  return best ?? [];
}

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at === -1 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}

/** CPUs that were taken, each of them free and none twice. */
function takenOf(given: Case, options: CpuOptions, nodes?: readonly number[]): readonly number[] {
  const { machine, free, count, about } = given;
  const taken = takeNear(unitsOf(machine), free, { count, nodes }, options);
  assert.ok(taken.ok, about);
  assert.equal(new Set(taken.cpus).size, count, about);
  const isFree = new Set(free);
  assert.ok(
    taken.cpus.every((cpu) => isFree.has(cpu)),
    about,
  );
  return taken.cpus;
}

for (const [name, more] of FAMILIES)
  test(`no CPUs hold more whole parts than those taken, in ${CASES} cases (${name || "packed"})`, () => {
    const options = cpuOptionsOf(name === "" ? {} : { [name]: "true" });
    for (let seed = 1; seed <= CASES; seed += 1) {
      const given = caseOf(seed, options.fullCores);
      if (given === undefined) continue;
      const units = unitsOf(given.machine);
      const largest: readonly Kind[] =
        units.socket.length >= units.node.length ? ["node", "socket"] : ["socket", "node"];
      const parts = [...largest, ...more].map((kind) => wholeParts(given, kind));
      const taken = takenOf(given, options);
      const score = scoreOf(maskOfCpus(taken), parts);
      assert.deepEqual(
        score,
        bestScore(given.free, given.count, parts),
        `${given.about}: ${taken}`,
      );
      if (options.fullCores)
        assert.equal(score.at(-1), given.count / units.threadsPerCore, given.about);
    }
  });

for (const [name, kind] of [
  ["", "node"],
  ["align-by-socket", "socket"],
] as const)
  test(`CPUs are taken elsewhere only when those near are used up, in ${CASES} cases (${name || "NUMA nodes"})`, () => {
    const options = cpuOptionsOf(name === "" ? {} : { [name]: "true" });
    for (let seed = 1; seed <= CASES; seed += 1) {
      const given = caseOf(seed, false);
      if (given === undefined) continue;
      const { cpus, free, count, about } = given;
      const node = cpus[seed % cpus.length]?.node ?? 0;
      const places = new Set(cpus.filter((cpu) => cpu.node === node).map((cpu) => cpu[kind]));
      const near = new Set(cpus.filter((cpu) => places.has(cpu[kind])).map(({ id }) => id));
      const taken = takenOf(given, options, [node]);
      const nearFree = free.filter((cpu) => near.has(cpu)).length;
      assert.equal(
        taken.filter((cpu) => near.has(cpu)).length,
        Math.min(count, nearFree),
        `${about}, near node ${node}: ${taken}`,
      );
    }
  });
