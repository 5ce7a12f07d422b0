import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { mergePatch, type Tree } from "./json.ts";

/** The examples of RFC 7386, appendix A, and some of our own. */
const VECTORS: readonly (readonly [target: unknown, patch: unknown, result: unknown])[] = [
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  [{ a: 1 }, {}, { a: 1 }],
  [{ a: { b: 1 } }, { a: {} }, { a: { b: 1 } }],
  [{ a: { b: 1 } }, { a: 2 }, { a: 2 }],
  [{ a: 2 }, { a: { b: 1, c: null } }, { a: { b: 1 } }],
  [{ a: [1, 2, 3] }, { a: [] }, { a: [] }],
  [
    ["a", "b"],
    ["c", "d"],
    ["c", "d"],
  ],
  [{ a: "foo" }, null, null],
  [[1, 2], { a: "b", c: null }, { a: "b" }],
];

test("mergePatch merges mappings, replaces lists and takes away nulls", () => {
  for (const [target, patch, result] of VECTORS) {
    assert.deepEqual(mergePatch(target, patch), result, JSON.stringify([target, patch]));
  }
});

test("mergePatch takes any name for a name", () => {
  const patch = JSON.parse('{"__proto__": {"polluted": true}}') as Tree;
  const merged = mergePatch({ a: 1 }, patch) as Tree;
  assert.deepEqual(Object.keys(merged), ["a", "__proto__"]);
  assert.equal(Object.getPrototypeOf(merged), Object.prototype);
  assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
});

const leaf = fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.array(fc.integer()));
/** Objects of one shape: a name is a mapping in all of them or in none. */
const config = fc.record(
  {
    a: leaf,
    b: leaf,
    m: fc.dictionary(fc.constantFrom("x", "y", "z"), leaf, { noNullPrototype: true }),
    n: fc.record(
      { o: leaf, p: fc.dictionary(fc.constantFrom("q", "r"), leaf, { noNullPrototype: true }) },
      { requiredKeys: [], noNullPrototype: true },
    ),
  },
  { requiredKeys: [], noNullPrototype: true },
) as fc.Arbitrary<Tree>;

test("merging is associative where a name keeps its kind and nothing is taken away", () => {
  fc.assert(
    fc.property(config, config, config, (base, first, second) => {
      const stepwise = mergePatch(mergePatch(base, first), second);
      const atOnce = mergePatch(base, mergePatch(first, second));
      assert.deepEqual(sorted(stepwise), sorted(atOnce));
    }),
  );
});

test("merging the same patch twice changes nothing more", () => {
  fc.assert(
    fc.property(config, config, (base, patch) => {
      const once = mergePatch(base, patch);
      assert.deepEqual(mergePatch(once, patch), once);
    }),
  );
});

test("an empty patch changes nothing, and what a patch says is there afterwards", () => {
  fc.assert(
    fc.property(config, config, (base, patch) => {
      assert.deepEqual(mergePatch(base, {}), base);
      assert.deepEqual(
        sorted(mergePatch(mergePatch(base, patch), base)),
        sorted(mergePatch(patch, base)),
      );
    }),
  );
});

function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, entry]) => [name, sorted(entry)]),
  );
}
