import assert from "node:assert/strict";
import { test } from "node:test";
import { formatCpuList, parseCpuList } from "../../../config/cpu-list.ts";
import { type CpuOptions, cpuOptionsOf } from "../options.ts";
import { MACHINES } from "./machines.vectors.ts";
import { takeNear } from "./take-cpus.ts";
import {
  CACHES,
  DISTRIBUTED,
  DISTRIBUTED_ANYWHERE,
  DISTRIBUTED_CORES,
  DISTRIBUTED_SOCKETS,
  PACKED,
  PLAIN,
  RESERVED,
  SOCKETS,
  SPREAD,
} from "./take-cpus.vectors.ts";
import { unitsOf } from "./units.ts";

type Row = (typeof PACKED)[number];

const TABLES: readonly (readonly [string, Readonly<Record<string, string>>, readonly Row[]])[] = [
  ["reserved by number", {}, RESERVED],
  ["packed", {}, PACKED],
  ["plain", {}, PLAIN],
  ["distributed", { "distribute-cpus-across-numa": "true" }, DISTRIBUTED],
  [
    "distributed by cores",
    { "distribute-cpus-across-numa": "true", "full-pcpus-only": "true" },
    DISTRIBUTED_CORES,
  ],
  [
    "distributed within sockets",
    { "distribute-cpus-across-numa": "true", "align-by-socket": "true" },
    DISTRIBUTED_SOCKETS,
  ],
  ["distributed over sockets", { "distribute-cpus-across-numa": "true" }, DISTRIBUTED_ANYWHERE],
  ["spread", { "distribute-cpus-across-cores": "true" }, SPREAD],
  ["caches", { "prefer-align-cpus-by-uncorecache": "true" }, CACHES],
  ["nodes", {}, SOCKETS.map(([row]) => row)],
  [
    "sockets",
    { "align-by-socket": "true" },
    SOCKETS.map(([[machine, free, [first], near], cpus]) => {
      return [machine, free, [[first?.[0] ?? 0, cpus]], near] as Row;
    }),
  ],
];

for (const [name, options, rows] of TABLES) {
  test(`CPUs of a request: ${name}`, () => {
    for (const row of rows) takeRow(row, cpuOptionsOf(options));
  });
}

test("a rest that no node can give in whole cores ends the search", () => {
  const free = listOf("1-9,11-19,21-79");
  const options = cpuOptionsOf({
    "distribute-cpus-across-numa": "true",
    "full-pcpus-only": "true",
  });
  const taken = takeNear(unitsOf(MACHINES.D), free, { count: 70, nodes: undefined }, options);
  assert.ok(taken.ok);
  assert.equal(new Set(taken.cpus).size, 70);
});

function takeRow([machine, free, steps, nodes]: Row, options: CpuOptions): void {
  let left = listOf(free);
  for (const [count, expected] of steps) {
    const taken = takeNear(unitsOf(MACHINES[machine]), left, { count, nodes }, options);
    const about = `${machine} free ${free}, ${count} near ${nodes}`;
    if (!taken.ok) {
      const text = `not enough cpus available to satisfy request: ${expected}`;
      assert.equal(taken.error, text, about);
      continue;
    }
    assert.equal(formatCpuList(taken.cpus), expected, about);
    const gone = new Set(taken.cpus);
    left = left.filter((cpu) => !gone.has(cpu));
  }
}

function listOf(text: string): readonly number[] {
  const parsed = parseCpuList(text);
  assert.ok(parsed.ok);
  return parsed.cpus;
}
