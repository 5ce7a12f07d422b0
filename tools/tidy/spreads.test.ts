import assert from "node:assert/strict";
import { test } from "node:test";
import { readSource } from "./source.ts";
import { checkSpreads } from "./spreads.ts";

for (const [code, lines] of [
  ["list.push(...others);", [1]],
  ["Math.max(\n  0,\n  ...others.map((o) => o.n),\n);", [3]],
  ["f?.(...others); this.#g(a, ...others); h()(...others); k[0](...others);", [1, 1, 1, 1]],
  ["new Thing(...others);", [1]],
  ["if (f(...others)) { g(); }", [1]],
  ["const y = f(\n  [...kept],\n  { ...shape },\n  ...others,\n);", [4]],
  ["const all = [...a, ...b], whole = { ...a };", []],
  ["f([...others], { ...shape }, (each) => [...each]);", []],
  ["class A {\n  add(...checks: readonly C[]): void {\n    this.own(...checks);\n  }\n}", []],
  ["const f = (...args: never[]) => g(1, ...args);", []],
  ["function f(a: string, ...rest: string[]) { return g(...rest); }", []],
  ["f(...KNOWN_NAMES);", []],
  ["// f(...others)\nconst text = 'f(...others)';", []],
] as const)
  test(`checkSpreads: ${code}`, () => {
    const found = checkSpreads(readSource("src/pipeline/a.ts", code));
    assert.deepEqual(
      found.map(({ line }) => line),
      lines,
    );
    assert.deepEqual(checkSpreads(readSource("src/pipeline/a.test.ts", code)), []);
  });
