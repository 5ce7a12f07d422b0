import assert from "node:assert/strict";
import { test } from "node:test";
import { parseCpuList } from "../../config/cpu-list.ts";
import { cpuHints } from "./cpu-hints.ts";
import { cpuOptionsOf } from "./options.ts";
import { MACHINES } from "./take/machines.vectors.ts";
import { unitsOf } from "./take/units.ts";

interface Row {
  readonly machine: keyof typeof MACHINES;
  readonly free: string;
  readonly reuse?: string;
  readonly count: number;
  readonly hints: string;
  readonly alignSockets?: true;
}

/** Hints as node lists with `+` for those that are preferred (V65–V73). */
const ROWS: readonly Row[] = [
  { machine: "B", free: "1-11", count: 2, hints: "0+ 1+ 0,1-" },
  { machine: "B", free: "1-11", count: 6, hints: "1+ 0,1-" },
  { machine: "B", free: "1-11", count: 7, hints: "0,1+" },
  { machine: "B", free: "1-11", count: 11, hints: "0,1+" },
  { machine: "B", free: "1-11", count: 12, hints: "" },
  { machine: "B", free: "2-11", count: 6, hints: "0,1-" },
  { machine: "B", free: "1,3,7", reuse: "2", count: 2, hints: "0,1-" },
  {
    machine: "D",
    free: "2,3,11",
    count: 2,
    hints: "0+ 0,1- 0,2- 0,3- 0,1,2- 0,1,3- 0,2,3- 0,1,2,3-",
  },
  {
    machine: "D",
    free: "2,3,11",
    count: 2,
    hints: "0+ 0,1+ 0,2- 0,3- 0,1,2- 0,1,3- 0,2,3- 0,1,2,3-",
    alignSockets: true,
  },
  { machine: "D", free: "0-28,40-57", count: 41, hints: "0,1,2+ 0,1,2,3-" },
  { machine: "D", free: "0-28,40-57", count: 41, hints: "0,1,2+ 0,1,2,3+", alignSockets: true },
  {
    machine: "D",
    free: "1-39,41-79",
    count: 20,
    hints: "1+ 2+ 3+ 0,1- 0,2- 1,2- 0,3- 1,3- 2,3- 0,1,2- 0,1,3- 0,2,3- 1,2,3- 0,1,2,3-",
  },
  {
    machine: "D",
    free: "1-39,41-79",
    count: 30,
    hints: "0,1+ 0,2+ 1,2+ 0,3+ 1,3+ 2,3+ 0,1,2- 0,1,3- 0,2,3- 1,2,3- 0,1,2,3-",
  },
];

test("hints of CPUs", () => {
  for (const { machine, free, reuse = "", count, hints, alignSockets } of ROWS) {
    const nodes = MACHINES[machine].nodes.map(({ id }) => id);
    const options = cpuOptionsOf(alignSockets ? { "align-by-socket": "true" } : {});
    const policy = { units: unitsOf(MACHINES[machine]), nodes, reserved: [], options };
    const found = cpuHints(policy, { count, available: listOf(free), reusable: listOf(reuse) });
    assert.ok(found !== "any");
    const shown = found.map(({ mask = 0, preferred }) => {
      const members = nodes.filter((_, at) => (mask >> at) & 1);
      return `${members.join(",")}${preferred ? "+" : "-"}`;
    });
    const inOrder = (list: readonly string[]) => list.toSorted().join(" ");
    const expected = hints === "" ? [] : hints.split(" ");
    assert.equal(inOrder(shown), inOrder(expected), `${machine} ${free} ${count}`);
  }
});

function listOf(text: string): readonly number[] {
  const parsed = parseCpuList(text);
  assert.ok(parsed.ok);
  return parsed.cpus;
}
