// One constellation short of memory under cgroups of version 2, in an emulated machine (`tools/guest`). It takes
// minutes, most of them for the machine and the agent to start.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { buildAll } from "../../tools/build.mjs";
import { guestObstacle, runInGuest } from "../../tools/guest/guest.mjs";
import { cgroupRoots } from "../box/prerequisites.ts";

const ROOT = join(import.meta.dirname, "../..");
/** Everything takes about so many times longer there. */
const TIMEOUT_FACTOR = 8;
const LIMIT_MS = 600_000;
const MEMORY_MIB = 3_072;

const skip =
  cgroupRoots().version === 2
    ? "this machine has cgroup v2 itself, where memory.it.ts shows it"
    : (guestObstacle() ?? false);

test("cgroup v2 on a real kernel: the right one of five pods is evicted, the others run on", {
  skip,
}, async () => {
  await buildAll({ say: () => {} });
  const command = [
    `cd ${ROOT}`,
    "stat -f -c 'cgroups: %T' /sys/fs/cgroup",
    `NODELET_TEST_TIMEOUT_FACTOR=${TIMEOUT_FACTOR} ${process.execPath} ` +
      "test/eviction/guest-life.ts",
  ].join(" && ");
  const { code, output } = await runInGuest(command, {
    timeoutMs: LIMIT_MS,
    memoryMib: MEMORY_MIB,
  });
  assert.equal(code, 0, output);
  assert.match(output, /^cgroups: cgroup2fs$/m);
  assert.match(output, /^evicted: hog: The node was low on resource: memory\. /m);
  console.log(/^figures: .*$/m.exec(output)?.[0]);
});
