import assert from "node:assert/strict";
import { test } from "node:test";
import { kernelValues, restoreKernel } from "./kernel-values.ts";

/** Settings by path, with what is written to them. */
function kernel(values: Readonly<Record<string, string>>, refuses = "") {
  const now = new Map(Object.entries(values).map(([name, value]) => [`/proc/sys/${name}`, value]));
  return {
    readKernel: (path: string) => now.get(path),
    writeKernel: (path: string, value: string) => {
      if (path === `/proc/sys/${refuses}`) throw new Error("read-only file system");
      now.set(path, value);
    },
  };
}

const BEFORE = { "vm/overcommit_memory": "0", "kernel/panic": "0", "net/ipv4/ip_forward": "0" };
const NODE = { "vm/overcommit_memory": "1", "kernel/panic": "10", "net/ipv4/ip_forward": "1" };

test("`kernelValues` notes what a node changes, as far as the kernel has it", () => {
  assert.deepEqual(kernelValues(kernel({ ...BEFORE, "vm/swappiness": "60" })), BEFORE);
});

test("`restoreKernel` puts settings back, but not what somebody has changed since", () => {
  const changed = kernel({ ...NODE, "kernel/panic": "60" });
  const { restored, kept } = restoreKernel(BEFORE, changed);
  assert.deepEqual(restored, [
    "kernel setting vm.overcommit_memory = 1 (it is 0 again)",
    "kernel setting net.ipv4.ip_forward = 1 (it is 0 again)",
  ]);
  assert.deepEqual(kept, ["kernel setting kernel.panic = 60 (changed since; it was 0)"]);
  assert.deepEqual(kernelValues(changed), { ...BEFORE, "kernel/panic": "60" });
});

test("`restoreKernel` leaves alone what is as before, and says what it may not write", () => {
  assert.deepEqual(restoreKernel(BEFORE, kernel(BEFORE)), { restored: [], kept: [] });
  const { kept } = restoreKernel(BEFORE, kernel(NODE, "kernel/panic"));
  assert.deepEqual(kept, ["kernel setting kernel.panic = 10, it was 0: read-only file system"]);
});
