// CPUs, memory and devices on two NUMA nodes: a machine that QEMU emulates, in which `numa/aligned.ts` runs.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { buildAll } from "../../tools/build.mjs";
import { CACHE_DIR } from "../../tools/debian-suite.mjs";
import { guestObstacle } from "../../tools/guest/guest.mjs";
import { runOnNuma } from "../../tools/guest/numa.mjs";

const ROOT = join(import.meta.dirname, "../..");
const LIMIT_MS = 2_400_000;
/** Everything takes about so many times longer there. */
const TIMEOUT_FACTOR = 12;

test("in a guest with two NUMA nodes", { skip: guestObstacle() ?? false }, async () => {
  await buildAll({ say: () => {} });
  const command = [
    `cd ${ROOT}`,
    `export XDG_CACHE_HOME=${join(CACHE_DIR, "..")} NODELET_TEST_TIMEOUT_FACTOR=${TIMEOUT_FACTOR}`,
    `${process.execPath} --test test/cpus/numa/aligned.ts`,
  ].join("\n");
  const { code, output } = await runOnNuma(command, { timeoutMs: LIMIT_MS, onLine: console.log });
  assert.equal(code, 0, output);
});
