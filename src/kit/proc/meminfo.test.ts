import assert from "node:assert/strict";
import { test } from "node:test";
import { parseMeminfo } from "./meminfo.ts";

test("parseMeminfo gives bytes and leaves out lines without a unit", () => {
  const text = "MemTotal: 2 kB\nHugePages_Total:  7\nX(a): 1 kB";
  assert.deepEqual(Object.fromEntries(parseMeminfo(text)), { MemTotal: 2048, "X(a)": 1024 });
  assert.equal(parseMeminfo("").size, 0);
});
