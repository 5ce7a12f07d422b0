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
  splitUnavailable,
  unavailableLine,
} from "./left-out.mjs";
import { PLATFORM_PATHS } from "./platforms.mjs";
import { NEEDED_PROVISIONS } from "./provisions.mjs";

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
    ["test/guest/v2.it.ts", false],
    ["test/devices/interop.it.ts", false],
    ["test/localapi/kubectl.it.ts", false],
    ["tools/mutants/mutants.test.ts", false],
  ] as const)
    assert.equal(isRun.get(path), expected, path);
});

test("what is named is there, and every provision that files need has a name for the line", () => {
  assert.deepEqual(
    [...NAMED_PATHS, ...PLATFORM_PATHS].filter((path) => !existsSync(join(ROOT, path))),
    [],
  );
  assert.deepEqual([...NAMED_PROVISIONS].sort(), [...NEEDED_PROVISIONS].sort());
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

test("on a machine that cannot have a provision, the files that need it are left with the reason", () => {
  const files = testFiles().filter(({ kind }) => kind === "integration");
  const all = splitUnavailable(files, new Map());
  assert.deepEqual([all.run.length, all.left.size], [files.length, 0]);
  assert.equal(unavailableLine(all.left, []), undefined);
  const { run, left } = splitUnavailable(files, new Map([["control plane", "there is no Go"]]));
  const paths = run.map(({ path }) => path);
  assert.ok(paths.includes("test/agent/lifecycle.it.ts"));
  assert.ok(
    !paths.includes("test/kube/node.it.ts") && !paths.includes("test/agent/adoption.it.ts"),
  );
  assert.deepEqual([...left], [["API servers, there is no Go", files.length - run.length]]);
  assert.equal(
    unavailableLine(new Map([["API servers, there is no Go", 2]]), ["x instead of y"]),
    "left, since this machine does not have what it takes: API servers, there is no Go (2 files); x instead of y",
  );
});
