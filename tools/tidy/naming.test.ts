import assert from "node:assert/strict";
import { test } from "node:test";
import { checkNames } from "./naming.ts";
import { readSource } from "./source.ts";
import { formatViolation } from "./violation.ts";

const DOC = "/** Documented. */\n";

const ROWS: readonly (readonly [string, string, readonly string[]])[] = [
  ["src/kit/index.ts", "", ["src/kit/index.ts is a barrel: name the file after what it exports"]],
  [
    "src/kit/string-utils.ts",
    "",
    ['src/kit/string-utils.ts says "utils": name it after what it does'],
  ],
  ["test/helpers/c.ts", "", ['test/helpers/c.ts says "helpers": name it after what it does']],
  [
    "src/kit/a.ts",
    `${DOC}export class PodManager {}\n${DOC}export const commonLabels = 1;`,
    [
      'src/kit/a.ts:2 PodManager says "manager": name it after what it does',
      'src/kit/a.ts:4 commonLabels says "common": name it after what it does',
    ],
  ],
  [
    "src/kit/b.ts",
    "export default 1;\nexport { x as default };",
    ["src/kit/b.ts:1 has a default export", "src/kit/b.ts:2 has a default export"],
  ],
  [
    "src/kit/d.ts",
    "export interface Turn {}",
    ["src/kit/d.ts:1 Turn is exported without a docstring"],
  ],
  ["src/kit/d.ts", "export interface TurnDeps {}", []],
  [
    "src/kit/d.ts",
    "export interface Deps {}",
    ["src/kit/d.ts:1 Deps is exported without a docstring"],
  ],
  ["src/kit/d.test.ts", "export interface Turn {}", []],
  [
    "src/kit/e.ts",
    `${DOC}export const cpuManagerPolicies = 1;\n${DOC}export type MemoryManagerPolicy = 1;`,
    [],
  ],
  [
    "src/kit/f.ts",
    "import { default as x } from './x.ts'; const managed = 1; const utility = 2;",
    [],
  ],
];

for (const [path, text, expected] of ROWS)
  test(`names: ${path} with ${text || "nothing"}`, () => {
    assert.deepEqual(checkNames(readSource(path, text)).map(formatViolation), expected);
  });
