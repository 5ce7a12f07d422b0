// A second allocator, slow and without any order of its own: it tries every way to share a request over NUMA nodes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createSeededRandom } from "../../../kit/random.ts";
import { cpuOptionsOf } from "../options.ts";
import { machineOf } from "./machines.vectors.ts";
import { takeCpus } from "./take-cpus.ts";
import { unitsOf } from "./units.ts";

const CASES = Number(process.env["NODELET_CPU_CASES"] ?? 3_000);
const DISTRIBUTED = cpuOptionsOf({ "distribute-cpus-across-numa": "true" });

test(`CPUs shared over NUMA nodes are as even as any way to do so, in ${CASES} cases`, () => {
  let spread = 0;
  for (let seed = 1; seed <= CASES; seed += 1) {
    const random = createSeededRandom(seed);
    const pick = (from: number, to: number) => from + Math.floor(random.next() * (to - from + 1));
    const [nodes, perNode] = [pick(2, 4), pick(2, 6)];
    const size = nodes * perNode;
    const nodeOf = (id: number) => Math.floor(id / perNode);
    const machine = machineOf(size, (id) => {
      const node = nodeOf(id);
      return { core: id, node, socket: node, cache: node };
    });
    const free = machine.cpus.map(({ id }) => id).filter(() => random.next() < 0.7);
    if (free.length === 0) continue;
    const count = pick(1, free.length);
    const taken = takeCpus(unitsOf(machine), free, count, DISTRIBUTED);
    const about = `seed ${seed}: ${count} of ${free} on ${nodes} nodes of ${perNode}`;
    assert.ok(taken.ok, about);
    assert.equal(new Set(taken.cpus).size, count, about);
    assert.ok(
      taken.cpus.every((cpu) => free.includes(cpu)),
      about,
    );
    const tally = (cpus: readonly number[]) =>
      Array.from({ length: nodes }, (_, node) => cpus.filter((cpu) => nodeOf(cpu) === node).length);
    const best = exhaustive(tally(free), count, perNode);
    if (best === undefined) continue;
    spread += 1;
    const left = tally(free).map((own, node) => own - (tally(taken.cpus)[node] ?? 0));
    assert.ok(Math.abs(unevenness(left) - best) < 0.002, `${about}: ${unevenness(left)}, ${best}`);
  }
  assert.ok(spread > CASES / 2, `${spread} cases`);
});

/**
 * The least unevenness that any way leaves: as few nodes as can give their even share, each of them at least that, and the rest
 * from those same nodes by one at a time. `undefined`: no set of nodes can.
 */
function exhaustive(free: readonly number[], count: number, perNode: number): number | undefined {
  for (let width = Math.ceil(count / perNode); width <= Math.min(count, free.length); width += 1) {
    const share = Math.floor(count / width);
    let best: number | undefined;
    for (const parts of ways(free, count)) {
      const members = parts.filter((part) => part > 0).length;
      if (members !== width || parts.some((part) => part > 0 && part < share)) continue;
      if (!isRoundRobin(parts, free, share)) continue;
      const score = unevenness(free.map((own, node) => own - (parts[node] ?? 0)));
      if (best === undefined || score < best) best = score;
    }
    if (best !== undefined) return best;
  }
  return undefined;
}

/** Whether what is given beyond the even share was given by one at a time, nodes with fewest free CPUs first. */
function isRoundRobin(parts: readonly number[], free: readonly number[], share: number): boolean {
  const extra = parts.map((part) => (part === 0 ? 0 : part - share));
  const order = extra
    .flatMap((own, node) => (own > 0 ? [node] : []))
    .sort((a, b) => (free[a] ?? 0) - (free[b] ?? 0) || a - b);
  const given = extra.map(() => 0);
  let rest = extra.reduce((sum, own) => sum + own, 0);
  while (rest > 0)
    for (const node of order) {
      const own = given[node] ?? 0;
      if (rest === 0 || own + share === free[node]) continue;
      given[node] = own + 1;
      rest -= 1;
    }
  return given.every((own, node) => own === extra[node]);
}

/** Every way to take `count` from nodes with so many free. */
function ways(free: readonly number[], count: number): readonly (readonly number[])[] {
  const [first, ...others] = free;
  if (first === undefined) return count === 0 ? [[]] : [];
  return Array.from({ length: Math.min(first, count) + 1 }, (_, part) => part).flatMap((part) =>
    ways(others, count - part).map((rest) => [part, ...rest]),
  );
}

function unevenness(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
}
