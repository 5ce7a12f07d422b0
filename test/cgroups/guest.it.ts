// Cgroups of version 2 on a real kernel: Debian's, in an emulated machine with the files of this one.
// What runs there is `example.it.ts`, which knows both versions.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { messageOf } from "../../src/kit/errors.ts";
import { buildAll } from "../../tools/build.mjs";
import { guestObstacle, guestParts, runInGuest } from "../../tools/guest/guest.mjs";
import { cgroupRoots } from "../box/prerequisites.ts";

const ROOT = join(import.meta.dirname, "../..");

/** Everything takes about so many times longer there. */
const TIMEOUT_FACTOR = 8;
const LIMIT_MS = 560_000;
/** A machine that is this busy with other work cannot emulate another one in time. */
const BUSY_PERCENT = 80;

/** Part of the last five minutes in which something waited for a CPU. */
function waitingForCpu(): number {
  const text = existsSync(PRESSURE) ? readFileSync(PRESSURE, "utf8") : "";
  return Number(/^some .*avg300=([\d.]+)/m.exec(text)?.[1] ?? 0);
}
const PRESSURE = "/proc/pressure/cpu";

const obstacle =
  cgroupRoots().version === 2
    ? "this machine has cgroup v2 itself, where example.it.ts shows it"
    : (guestObstacle() ?? false);

test("cgroup v2 on a real kernel: the worked example, usage, qosReserved and a kill", {
  skip: obstacle,
}, async (t) => {
  try {
    guestParts();
  } catch (error) {
    t.skip(`cannot get Debian's kernel: ${messageOf(error)}`);
    return;
  }
  await buildAll({ say: () => {} });
  const command = [
    `cd ${ROOT}`,
    "stat -f -c 'cgroups: %T' /sys/fs/cgroup",
    `NODELET_TEST_TIMEOUT_FACTOR=${TIMEOUT_FACTOR} ${process.execPath} --test ` +
      "--test-reporter=tap test/cgroups/example.it.ts",
  ].join(" && ");
  const { code, output } = await runInGuest(command, { timeoutMs: LIMIT_MS });
  const waitingPercent = waitingForCpu();
  const isLate = code === undefined || /not within \d+ ms/.test(output);
  if (isLate && waitingPercent > BUSY_PERCENT) {
    t.skip(
      `the emulated machine was not done in time: for ${waitingPercent} % of the last 5 minutes something waited for a CPU here`,
    );
    return;
  }
  assert.equal(code, 0, output);
  assert.match(output, /^cgroups: cgroup2fs$/m);
  assert.match(output, /^# pass 5$/m, output);
  const took = /\[ *([\d.]+)\] reboot/.exec(output)?.[1];
  console.log(`cgroup v2: all of the example after ${took} s of the guest`);
});
