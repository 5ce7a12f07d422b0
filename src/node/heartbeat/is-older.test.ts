import assert from "node:assert/strict";
import { test } from "node:test";
import { isOlder } from "./is-older.ts";

test("isOlder: by number, of the same object only", () => {
  const at = (resourceVersion: string, uid = "u") => ({ metadata: { uid, resourceVersion } });
  assert.equal(isOlder(at("9"), at("10")), true);
  assert.equal(isOlder(at("10"), at("9")), false);
  assert.equal(isOlder(at("10"), at("10")), false);
  assert.equal(isOlder(at("9", "another"), at("10")), false);
  assert.equal(isOlder(at("a"), at("b")), false);
  assert.equal(isOlder(at("9"), undefined), false);
});
