import assert from "node:assert/strict";
import { test } from "node:test";
import { compatOf, withoutCompat } from "./agent-flags.ts";

for (const [flags, compat, others] of [
  [[], undefined, []],
  [["-v", "4"], undefined, ["-v", "4"]],
  [["--compat=1.36"], "1.36", []],
  [["-v=4", "--compat", "1.36", "--max-pods=20"], "1.36", ["-v=4", "--max-pods=20"]],
  [["--compat=1.36", "--compat=1.37", "-v=2"], "1.37", ["-v=2"]],
] as const)
  test(`compatOf, withoutCompat: ${flags.join(" ") || "no flags"}`, () => {
    assert.equal(compatOf(flags), compat);
    assert.deepEqual(withoutCompat(flags), others);
  });
