import assert from "node:assert/strict";
import { test } from "node:test";
import { checkModuleState } from "./module-state.ts";
import { readSource } from "./source.ts";

for (const [code, lines] of [
  ["let last = 0;", [1]],
  ["export let last: string | undefined;", [1]],
  ["const seen = new Map<string, number>();\nconst f = () => seen.set('a', 1);", [1]],
  ["const seen = new WeakSet<object>();\nfunction f(o: object) { seen.add(o); }", [1]],
  ["const waiting: (() => void)[] = [];\nexport const f = () => waiting.shift();", [1]],
  ["const counts: Record<string, number> = {};\nconst f = (k: string) => { counts[k] = 1; };", [1]],
  ["const at = { x: 0 };\nconst f = () => { at.x += 1; };", [1]],
  ["const at = { x: 0 };\nconst f = () => { at.x ??= 1; };", [1]],
  ["const at: { x?: number } = {};\nconst f = () => { delete at.x; };", [1]],
  ["const NAMES = new Set(['a']);\nconst f = (n: string) => NAMES.has(n);", []],
  ["const LIST = [1, 2];\nconst f = () => LIST.map((n) => n).sort();", []],
  ["const AT = { x: 0 };\nconst f = (y: number) => AT.x === y || AT.x <= y;", []],
  ["function f() {\n  let i = 0;\n  const seen = new Map();\n  seen.set('a', i);\n}", []],
  ["const seen = new Map();\nclass A { seen = new Map(); f() { this.seen.set('a', 1); } }", []],
  ["// let last = 0;\nconst text = `\nlet last`;", []],
] as const)
  test(`checkModuleState: ${code}`, () => {
    const found = checkModuleState(readSource("src/pipeline/a.ts", code));
    assert.deepEqual(
      found.map(({ line }) => line),
      lines,
    );
    assert.deepEqual(checkModuleState(readSource("src/pipeline/a.test.ts", code)), []);
  });
