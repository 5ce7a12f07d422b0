import assert from "node:assert/strict";
import { test } from "node:test";
import { B, cgroupModule, G } from "../../../test/support/cgroup-module.ts";
import { OutsideError } from "../../kit/errors.ts";
import { silentLog } from "../../kit/log.ts";
import { tryUpdateQos } from "./cgroups.ts";

test("a class whose limit the kernel refuses is logged, and does not stop the starts of pods", async () => {
  const { cgroups, tree } = cgroupModule(1, { qosReservedMemoryPercent: 100 }, (operation, path) =>
    `${operation} ${path}` === "cgroup.write /kubepods/besteffort/memory.limit_in_bytes"
      ? new OutsideError("precondition", "busy")
      : undefined,
  );
  await cgroups.start();
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
  await tryUpdateQos(cgroups, [G, B], log);
  assert.deepEqual(warnings, ["failed to update the cgroups of QoS classes"]);
  await cgroups.ensurePod(G);
  assert.equal(await tree.read("/kubepods/podg", "memory.limit_in_bytes"), String(2 ** 30));
});
