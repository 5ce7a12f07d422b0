import assert from "node:assert/strict";
import { test } from "node:test";
import { deprecationsOf, NO_DEPRECATIONS } from "./runtime-deprecations.ts";

const ready = { type: "RuntimeReady", status: true, message: "" };
const condition = (status: boolean, message: string) => [
  ready,
  { type: NO_DEPRECATIONS, status, message },
];

const VECTORS: readonly (readonly [
  what: string,
  conditions: Parameters<typeof deprecationsOf>[0],
  texts: readonly string[],
])[] = [
  ["no such condition (containerd 1.6)", [ready], []],
  ["nothing deprecated", condition(true, ""), []],
  [
    "two warnings, sorted",
    condition(
      false,
      '{"io.containerd.deprecation/b":"The `mirrors` property is deprecated","io.containerd.deprecation/a":"Schema 1 images are deprecated"}',
    ),
    ["Schema 1 images are deprecated", "The `mirrors` property is deprecated"],
  ],
  ["another form", condition(false, "something is deprecated"), ["something is deprecated"]],
];

for (const [what, conditions, texts] of VECTORS)
  test(`deprecationsOf: ${what}`, () => assert.deepEqual(deprecationsOf(conditions), texts));
