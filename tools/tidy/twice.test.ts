import assert from "node:assert/strict";
import { test } from "node:test";
import { readSource } from "./source.ts";
import { checkTwice } from "./twice.ts";

/** What is wrong with two files of these texts. */
function wrong(a: string, b: string, path = "src/kit/b.ts"): readonly string[] {
  const files = [readSource(path, b), readSource("src/kit/a.ts", a)];
  return checkTwice(files).map(({ path: at, message }) => `${at} ${message}`);
}

const ROWS: readonly (readonly [string, string, string | undefined])[] = [
  ["export interface Turn {}", "export type Turn = 1;", "Turn"],
  ["export const list = 1;", "export function list() {}", "list"],
  ["export class Turn {}", "export const turn = 1;", undefined],
  ["export type Turn = 1;", 'export type { Turn } from "./a.ts";', undefined],
  ["export type Turn = 1;", "type Turn = 2;", undefined],
  ["export type Turn = 1;", "// export type Turn = 2;", undefined],
];

for (const [a, b, name] of ROWS)
  test(`twice: ${name ?? "nothing"} in ${a} and ${b}`, () => {
    const expected = `src/kit/b.ts ${name} is exported by src/kit/a.ts too: share it, or name it after what it is`;
    assert.deepEqual(wrong(a, b), name === undefined ? [] : [expected]);
  });

test("twice: tests may have names of their own", () => {
  assert.deepEqual(
    wrong("export type Turn = 1;", "export type Turn = 1;", "src/kit/b.test.ts"),
    [],
  );
});
