import assert from "node:assert/strict";
import { test } from "node:test";
import { isSameValue } from "./same-value.ts";

test("isSameValue knows the kernel's spellings", () => {
  for (const [file, read, wanted, same] of [
    ["cpu.shares", "1024", "1024", true],
    ["cpu.shares", "2", "1", true],
    ["cpu.shares", "262144", "999999", true],
    ["cpu.shares", "1024", "1025", false],
    ["cpu.cfs_quota_us", "-1", "-5", true],
    ["cpu.cfs_quota_us", "-1", "100000", false],
    ["memory.limit_in_bytes", "9223372036854771712", "-1", true],
    ["memory.limit_in_bytes", "9223372036854710272", "-1", true],
    ["memory.limit_in_bytes", "1073741824", "1073741825", true],
    ["memory.limit_in_bytes", "1073741824", "1073737728", false],
    ["memory.limit_in_bytes", "1073741824", "-1", false],
    ["memory.limit_in_bytes", "0", "1", true],
    ["memory.max", "max", "max", true],
    ["memory.max", "max", "9223372036854771712", true],
    ["memory.max", "max", "1073741824", false],
    ["memory.max", "1073741824", "max", false],
    ["memory.high", "8192", "8193", true],
    ["cpu.max", "max 100000", "max 100000", true],
    ["cpu.max", "max 100000", "max", true],
    ["cpu.max", "100000 100000", "100000  100000", true],
    ["cpu.max", "100000 100000", "100000 50000", false],
    ["cpu.max", "max 100000", "100000 100000", false],
    ["cpu.weight", "39", "39", true],
    ["cpu.weight", "39", "40", false],
    ["pids.max", "max", "max", true],
    ["pids.max", "max", "5", false],
    ["hugetlb.2MB.max", "2097152", "2097153", true],
    ["hugetlb.2MB.max", "2097152", "4194304", false],
    ["hugetlb.1GB.limit_in_bytes", "4611686018427387904", "4611686018427387904", true],
    ["cpuset.cpus", "0-1", "0-1\n", true],
    ["cpuset.cpus", "0-1", "0", false],
  ] as const) {
    assert.equal(isSameValue(file, read, wanted), same, `${file}: ${read} for ${wanted}`);
  }
});
