import assert from "node:assert/strict";
import { test } from "node:test";
import { runCommand } from "../../src/cli/cli.ts";
import type { CgroupsReport } from "../../src/subsystems/cgroups/cgroups.ts";
import { commandOf } from "../sim/programs.ts";
import { captureIo } from "../support/capture-io.ts";
import { ServedWorld } from "./world.ts";

const MEMORY = { limits: { cpu: "500m", memory: "64Mi" } };

test("the live tree stands beside the desired one, and --fix repairs what somebody has changed", async () => {
  await using world = await new ServedWorld().start();
  const container = {
    name: "c",
    image: "nodelet.test/nodelet-test:1",
    command: [...commandOf({ kind: "sleep" })],
    resources: MEMORY,
  };
  await world.run("web", { kind: "sleep" }, { containers: [container] });
  const pod = "/kubepods/poduid-web";
  await world.until(() => world.host.cgroups.exists(pod), "the pod has its group");
  const nodelet = async (...argv: readonly string[]) => {
    const io = captureIo();
    const code = await runCommand(
      ["cgroups", "--socket", world.socketPath, ...argv],
      io.io,
      () => new AbortController().signal,
    );
    return { code, ...io.text() };
  };
  const clean = await nodelet("--diff");
  assert.deepEqual([clean.code, clean.out], [0, "nothing differs\n"], clean.err);
  await world.host.cgroups.write(pod, "memory.max", "max");
  await world.host.cgroups.write("/kubepods", "cpu.max", "50000 100000");
  const drifted = await nodelet("--diff");
  assert.equal(drifted.code, 1);
  assert.equal(
    drifted.out,
    `/kubepods
  cpu.max  50000 100000  (should be max 100000; set by another program)
${pod}  (pod default/web)
  memory.max  max  (should be 67108864)
2 values differ
`,
  );
  const fixed = await nodelet("--fix");
  assert.equal(fixed.code, 0, fixed.out);
  assert.match(fixed.out, /^set \/kubepods cpu\.max: 50000 100000 -> max 100000\n/);
  assert.match(fixed.out, /nothing differs/);
  assert.equal(await world.host.cgroups.read(pod, "memory.max"), "67108864");
  await world.host.cgroups.create("/kubepods/besteffort/podstray");
  const all = await nodelet("-o", "json");
  const report = JSON.parse(all.out) as CgroupsReport;
  assert.deepEqual(
    report.groups.map(({ path, kind }) => `${path} ${kind}`),
    [
      "/kubepods node",
      "/kubepods/burstable tier",
      "/kubepods/besteffort tier",
      `${pod} pod`,
      "/kubepods/besteffort/podstray unknown",
    ],
  );
});
