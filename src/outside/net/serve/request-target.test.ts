import assert from "node:assert/strict";
import { test } from "node:test";
import { bearerTokenOf, parseTarget, pathPart } from "./request-target.ts";

const TARGETS: readonly (readonly [string, readonly string[] | undefined, string])[] = [
  ["/pods", ["", "pods"], ""],
  ["/a%2Fb/c?x=1&y=%26", ["", "a/b", "c"], "x=1&y=%26"],
  ["/?", ["", ""], ""],
  [`/${"a".repeat(4095)}`, ["", "a".repeat(4095)], ""],
  [`/${"a".repeat(4096)}`, undefined, ""],
  [`/a?${"b".repeat(5000)}`, ["", "a"], `${"b".repeat(5000)}=`],
  ["/".repeat(63), Array.from({ length: 64 }, () => ""), ""],
  ["/".repeat(64), undefined, ""],
  ["pods", undefined, ""],
  ["", undefined, ""],
  ["*", undefined, ""],
  ["https://other.example/pods", undefined, ""],
  ["/%zz", undefined, ""],
  ["/%ff", undefined, ""],
];

for (const [target, parts, query] of TARGETS)
  test(`parseTarget: ${target.slice(0, 40)} (${target.length} characters)`, () => {
    const parsed = parseTarget(target);
    assert.deepEqual(parsed?.parts, parts);
    if (parsed) {
      assert.equal(parsed.path, pathPart(target));
      assert.equal(parsed.query.toString(), query);
    }
  });

test("pathPart: a target without a path has an empty one", () => {
  assert.equal(pathPart("?x"), "");
  assert.equal(pathPart(""), "");
});

const TOKENS: readonly (readonly [string | undefined, string | undefined])[] = [
  ["Bearer abc", "abc"],
  ["bearer   a.b.c", "a.b.c"],
  ["  Bearer abc  ", "abc"],
  ["Bearer", undefined],
  ["Bearer ", undefined],
  ["Bearer a b", undefined],
  ["Bearerabc", undefined],
  ["Basic Bearer abc", undefined],
  ["", undefined],
  [undefined, undefined],
];

for (const [header, token] of TOKENS)
  test(`bearerTokenOf: ${header}`, () => {
    assert.equal(bearerTokenOf(header), token);
  });
