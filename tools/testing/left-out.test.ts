// What a newcomer's run leaves out: only what needs more than this machine, or is named with its reason.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { testFiles } from "./files.mjs";
import {
  ALL_SEEDS,
  FEWER_SEEDS,
  leftLine,
  NAMED_PATHS,
  NAMED_PROVISIONS,
  splitFiles,
} from "./left-out.mjs";
import { PROVISION_NAMES } from "./provisions.mjs";

const ROOT = join(import.meta.dirname, "../..");

test("all files are run or left, and what needs no more than this machine is run", () => {
  const files = testFiles();
  const { run, left } = splitFiles(files);
  const leftCount = [...left.values()].reduce((sum, count) => sum + count, 0);
  assert.equal(run.length + leftCount, files.length);
  const isRun = new Map(files.map((file) => [file.path, run.includes(file)]));
  for (const [path, expected] of [
    ["src/kit/in-parallel.test.ts", true],
    ["test/fuzz/fuzz.test.ts", true],
    ["test/sim/sim.test.ts", true],
    ["test/sim/resizes.test.ts", true],
    ["test/box/box.it.ts", true],
    ["test/agent/lifecycle.it.ts", true],
    ["test/kube/node.it.ts", false],
    ["test/agent/adoption.it.ts", false],
    ["test/cgroups/guest.it.ts", false],
    ["test/devices/interop.it.ts", false],
    ["test/localapi/kubectl.it.ts", false],
    ["tools/mutants/mutants.test.ts", false],
  ] as const)
    assert.equal(isRun.get(path), expected, path);
});

test("what is named is there, and every provision has a name for the line", () => {
  assert.deepEqual(
    NAMED_PATHS.filter((path) => !existsSync(join(ROOT, path))),
    [],
  );
  assert.deepEqual([...NAMED_PROVISIONS].sort(), [...PROVISION_NAMES].sort());
});

test("the line names what was left, and the seeds", () => {
  assert.equal(
    leftLine(
      new Map([
        ["API servers", 20],
        ["guests", 1],
      ]),
    ),
    `left for \`npm test -- --all\`: API servers (20 files), guests (1 file), ${Number(ALL_SEEDS) - Number(FEWER_SEEDS)} more seeds`,
  );
});
