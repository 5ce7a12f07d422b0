import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeHost } from "../../../test/sim/fake-host.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { OutsideError, UsageError } from "../../kit/errors.ts";
import { silentLog } from "../../kit/log.ts";
import { prepareKernel } from "./kernel.ts";
import { KERNEL_SETTINGS } from "./kernel-settings.ts";

function machine(values: Readonly<Record<string, string>>) {
  const host = new FakeHost({ clock: new SimClock() });
  for (const [path, value] of Object.entries(values)) host.kernelFiles.set(path, value);
  const warnings: unknown[] = [];
  const log = { ...silentLog, warn: (...reported: unknown[]) => warnings.push(reported) };
  return { host, log, warnings };
}

const USUAL = { protectKernelDefaults: false, oomScoreAdj: -999 };

test("what differs is set, what is missing is left out", () => {
  const { host, log, warnings } = machine({
    "/proc/sys/vm/overcommit_memory": "0",
    "/proc/sys/kernel/panic": "10",
    "/proc/self/oom_score_adj": "0",
  });
  prepareKernel(USUAL, { host, log });
  assert.deepEqual(Object.fromEntries(host.kernelFiles), {
    "/proc/sys/vm/overcommit_memory": "1",
    "/proc/sys/kernel/panic": "10",
    "/proc/self/oom_score_adj": "-999",
  });
  assert.deepEqual(warnings, []);
});

test("what may not be set is warned of", () => {
  const { host, log, warnings } = machine({
    "/proc/sys/vm/panic_on_oom": "1",
    "/proc/self/oom_score_adj": "0",
  });
  host.writeKernel = (path) => {
    throw new OutsideError("denied", `write ${path}: EACCES`);
  };
  prepareKernel(USUAL, { host, log });
  assert.equal(warnings.length, 2);
});

test("protectKernelDefaults refuses, naming each, and changes nothing", () => {
  const { host, log } = machine({
    "/proc/sys/vm/overcommit_memory": "0",
    "/proc/sys/kernel/panic": "0",
  });
  const protect = { ...USUAL, protectKernelDefaults: true };
  assert.throws(
    () => prepareKernel(protect, { host, log }),
    (thrown) =>
      thrown instanceof UsageError &&
      /vm\/overcommit_memory, expected value: 1, actual value: 0; .*kernel\/panic,/.test(
        thrown.message,
      ),
  );
  assert.equal(host.kernelFiles.get("/proc/sys/kernel/panic"), "0");
  for (const { name, value } of KERNEL_SETTINGS) host.kernelFiles.set(`/proc/sys/${name}`, value);
  prepareKernel(protect, { host, log });
});
