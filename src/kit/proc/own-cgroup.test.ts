import assert from "node:assert/strict";
import { test } from "node:test";
import { ownCgroup } from "./own-cgroup.ts";

for (const [text, cpu, memory] of [
  ["9:memory:/m\n3:cpu,cpuacct:/agent\n0::/", "/agent", "/m"],
  [
    "0::/system.slice/nodelet.service\n",
    "/system.slice/nodelet.service",
    "/system.slice/nodelet.service",
  ],
  ["5:memory:/a:b\n4:cpu,cpuacct:/c\n0::/d\n", "/c", "/a:b"],
  ["4:cpu,cpuacct:/c\n", "/c", undefined],
  ["", undefined, undefined],
  [undefined, undefined, undefined],
] as const)
  test(`ownCgroup: ${JSON.stringify(text)}`, () => {
    assert.equal(ownCgroup(text, "cpu"), cpu);
    assert.equal(ownCgroup(text, "memory"), memory);
  });
