// The benchmark works from end to end: a small run on a real node, checked for plausible figures, not for speed.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { ClusterRound } from "../tools/bench/cluster/cluster-result.ts";
import type { BenchResult } from "../tools/bench/result.ts";
import { apiServerObstacle } from "./kube/apiserver.ts";

const BENCH = join(import.meta.dirname, "..", "tools", "bench", "bench.ts");

function bench(...flags: readonly string[]): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [BENCH, ...flags], { stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => {
        output += chunk.toString();
      });
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, output }));
  });
}

test("a quick benchmark ends well and measures every figure", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-bench-"));
  try {
    const file = join(folder, "result.json");
    const { code, output } = await bench("--quick", "--json", file);
    assert.equal(code, 0, output);
    const result: BenchResult = JSON.parse(readFileSync(file, "utf8"));
    const [subject] = result.subjects;
    const [round] = subject?.rounds ?? [];
    assert.ok(subject && round && subject.rounds.length === 1);
    assert.ok(subject.isNodelet);
    assert.match(result.machine.runtime, /^containerd \d/);
    assert.equal(round.single.pods.length, 1);
    assert.equal(round.together.pods.length, 5);
    for (const { runningMs, readyMs } of [...round.single.pods, ...round.together.pods]) {
      assert.ok(runningMs > 0 && readyMs >= runningMs, `${runningMs} ${readyMs}`);
    }
    for (const ms of [...round.single.stoppedMs, ...round.together.stoppedMs])
      assert.ok(ms > 1_000, "the pods do not end before their grace is over");
    assert.ok(round.together.startCpuMs > 0 && round.together.stopCpuMs > 0);
    assert.deepEqual(
      round.steady.map(({ pods }) => pods),
      [0, 5],
    );
    for (const { rssMib, anonymousMib } of round.steady)
      assert.ok(rssMib > anonymousMib && anonymousMib > 5);
    assert.deepEqual(
      round.floor.together.map(({ parallel, runningMs }) => [parallel, runningMs.length]),
      [
        [4, 5],
        [5, 5],
      ],
    );
    assert.match(output, /^one pod, create → running, to the floor +≤ 1\.3 × +too few to judge$/m);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a quick benchmark of a cluster's node measures every figure", {
  skip: apiServerObstacle() ?? false,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-bench-"));
  try {
    const file = join(folder, "result.json");
    const { code, output } = await bench("--quick", "--cluster", "--json", file);
    assert.equal(code, 0, output);
    const result: BenchResult<ClusterRound> = JSON.parse(readFileSync(file, "utf8"));
    const [round] = result.subjects[0]?.rounds ?? [];
    assert.ok(round, output);
    assert.ok(round.startUpMs > 0 && round.floorMs.every((ms) => ms > 0));
    const { first, singles, probed, again, plain } = round;
    assert.deepEqual(
      [first, ...singles, probed, again, plain].map(({ readyMs, goneMs }) => [
        readyMs.length,
        goneMs.length,
      ]),
      [
        [1, 1],
        [1, 1],
        [5, 5],
        [5, 5],
        [5, 5],
      ],
    );
    for (const { readyMs, goneMs, startCpuMs, stopCpuMs, requests } of [
      first,
      probed,
      again,
      plain,
    ]) {
      assert.ok([...readyMs, ...goneMs, startCpuMs, stopCpuMs].every((ms) => ms > 0));
      // Every pod is reported to be ready, and in the end taken from the API.
      assert.ok((requests["patch pods/status"] ?? 0) >= 2 * readyMs.length, output);
      assert.equal(requests["delete pods"], readyMs.length, output);
    }
    for (const steady of [round.steady[0], probed.steady, plain.steady])
      assert.ok(steady && steady.rssMib > steady.anonymousMib && steady.anonymousMib > 5);
    assert.match(output, /^ {2}create → Ready, last, ms +\d/m);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a program that is no kubelet is refused with what it says", async () => {
  const { code, output } = await bench("--quick", "--kubelet", "/bin/echo");
  assert.equal(code, 1);
  assert.match(output, /this is no kubelet/);
});
