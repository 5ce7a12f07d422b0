import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isRunning, markOf } from "../up/processes.ts";
import { endOrphanedKubeadm, runKubeadm } from "./run-kubeadm.ts";

const folder = mkdtempSync(join(tmpdir(), "nodelet-run-kubeadm-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const running = join(folder, "running.json");

test("endOrphanedKubeadm: ends the process that is noted, and no other one that has its number", async () => {
  await endOrphanedKubeadm(running);
  const child = spawn("sleep", ["100"]);
  const mark = markOf(child.pid ?? 0);
  assert.ok(mark);
  writeFileSync(running, JSON.stringify({ ...mark, startTicks: mark.startTicks - 1 }));
  await endOrphanedKubeadm(running);
  assert.ok(isRunning(mark));
  assert.ok(!existsSync(running));
  writeFileSync(running, JSON.stringify(mark));
  await endOrphanedKubeadm(running);
  assert.ok(!isRunning(mark));
  writeFileSync(running, "{");
  await endOrphanedKubeadm(running);
  assert.ok(!existsSync(running));
});

test("runKubeadm: notes its process while it runs, and gives kubeadm a kubelet of the release", async () => {
  const kubeadm = join(folder, "kubeadm");
  const script = `#!/bin/sh\necho "[steps] $$"\nuntil [ -s ${running} ]; do sleep 0.01; done\ncat ${running}\necho\ncat "$(command -v kubelet)"\nexit 3\n`;
  writeFileSync(kubeadm, script, { mode: 0o755 });
  const steps: string[] = [];
  const { ok, output } = await runKubeadm({
    kubeadm,
    argv: [],
    programs: join(folder, "bin"),
    compat: "1.36",
    log: join(folder, "log"),
    running,
    onStep: ({ phase, text }) => steps.push(`${phase} ${text}`),
    signal: new AbortController().signal,
  });
  assert.equal(ok, false);
  const [, pid = ""] = /^\{"pid":(\d+),/m.exec(output) ?? [];
  assert.deepEqual(steps, [`steps ${pid}`]);
  assert.match(output, /^exec '.*nodelet' run '--compat=1\.36' "\$@"$/m);
  assert.equal(readFileSync(join(folder, "log"), "utf8").trimEnd(), output);
  assert.ok(!existsSync(running));
});
