import assert from "node:assert/strict";
import { test } from "node:test";
import { isKernelAtLeast, type KernelRelease } from "./kernel-version.ts";

const ROWS: readonly (readonly [string, KernelRelease, boolean])[] = [
  ["6.1.0-18-amd64", [5, 9], true],
  ["6.1.0-18-amd64", [6, 1], true],
  ["6.1.0-18-amd64", [6, 2], false],
  ["5.10.0", [5, 9], true],
  ["5.8.0", [5, 9], false],
  ["4.15", [4, 15], true],
  ["4.9.337", [4, 15], false],
  ["6", [6, 0], true],
  ["", [4, 6], false],
  ["unknown", [4, 6], false],
];
for (const [version, least, expected] of ROWS)
  test(`isKernelAtLeast: ${version || "unknown"} and ${least.join(".")}`, () => {
    assert.equal(isKernelAtLeast(version, least), expected);
  });
