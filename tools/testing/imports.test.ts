import assert from "node:assert/strict";
import { test } from "node:test";
import { importedBy, namesFrom, specifiersOf } from "./imports.mjs";

const TEXT = `import type { A } from "./a.ts";
export type { B } from "./b.ts";
import type {
  C,
} from "./c.ts";
import {
  d,
} from '../kit/d.ts';
export type Open = { readonly now: boolean };
export * from "./e.ts";
import "./f.ts";
import { type G, g, type H } from "./g.ts";
const h = await import("./deep/h.ts");
import { test } from "node:test";
import whole, { part as piece } from "package";
import * as files from "node:fs";`;

test("importedBy: relative imports, static and dynamic; what is imported as types only is not loaded", () => {
  assert.deepEqual(importedBy("src/thing/x.ts", TEXT), [
    "src/kit/d.ts",
    "src/thing/e.ts",
    "src/thing/f.ts",
    "src/thing/g.ts",
    "src/thing/deep/h.ts",
  ]);
});

test("specifiersOf: packages and modules of Node, too", () => {
  const outside = specifiersOf(TEXT).filter((specifier) => !specifier.startsWith("."));
  assert.deepEqual(outside, ["node:test", "package", "node:fs"]);
});

const NAMES: readonly (readonly [string, readonly string[]])[] = [
  ["./a.ts", []],
  ["../kit/d.ts", ["d"]],
  ["./g.ts", ["g"]],
  ["package", ["whole", "part as piece"]],
  ["node:fs", ["* as files"]],
];

for (const [module, expected] of NAMES)
  test(`namesFrom: ${module}`, () => {
    assert.deepEqual(namesFrom(module, TEXT), expected);
  });
