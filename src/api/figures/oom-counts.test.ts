import assert from "node:assert/strict";
import { test } from "node:test";
import { OomCounts } from "./oom-counts.ts";

test("OomCounts counts by the group whose limit was reached, above whatever root the kernel shows it", () => {
  const counts = new OomCounts();
  for (const path of [
    "/kubepods/burstable/podx/c0ffee",
    "/docker/box/kubepods/burstable/podx/c0ffee",
    "/kubepods/burstable/podx",
    "/machine.slice/kubepods.slice/kubepods-podx.slice/cri-containerd-c0ffee.scope",
    "/",
    "/system.slice/a.service",
  ])
    counts.add(path);
  for (const [path, expected] of [
    ["/kubepods/burstable/podx/c0ffee", 2],
    ["/kubepods/burstable/podx", 1],
    ["/kubepods/burstable", 0],
    ["/kubepods.slice/kubepods-podx.slice/cri-containerd-c0ffee.scope", 1],
    ["/", 1],
    ["/system.slice/a.service", 1],
    ["/kubepods/podother", 0],
  ] as const)
    assert.equal(counts.of(path), expected, path);
});

test("OomCounts forgets the group that was counted first when there are too many", () => {
  const counts = new OomCounts();
  for (let i = 0; i < 10_001; i += 1) counts.add(`/kubepods/pod${i}`);
  counts.add("/kubepods/pod1");
  assert.deepEqual(
    ["/kubepods/pod0", "/kubepods/pod1", "/kubepods/pod10000"].map((path) => counts.of(path)),
    [0, 2, 1],
  );
});
