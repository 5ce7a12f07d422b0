import assert from "node:assert/strict";
import { test } from "node:test";
import { checkPlainWords } from "./words.ts";

const ROWS: readonly (readonly [string, string, readonly string[]])[] = [
  ["src/kit/a.ts", "#lookedAt = 1;", ["looked"]],
  ["src/kit/a.ts", "const NODE_ROOM = 1;", ["room"]],
  ["src/kit/a.ts", "class Wishes {}", ["wishes"]],
  ["src/kit/a.ts", "/** The peer is told twice, and told again. */", ["told", "told"]],
  ["test/a.test.ts", 'test("a pod wants nothing", () => {});', ["wants"]],
  ["docs/a.md", "what a container lacks", ["lacks"]],
  ["src/kit/a.ts", "lookup(); // looks up a name that looks like another", []],
  ["src/kit/a.ts", "headroom, untold, dewish, outlook, wanted", []],
  ["docs/a.md", "If you want to run pods", []],
  ["packaging/a.service", "Wants=network-online.target", []],
  ["packaging/a.sh", "ls multi-user.target.wants/", []],
  ["docs/GLOSSARY.md", "| check | look |", []],
  ["src/kit/told.ts", "", ["told"]],
  ["src/generated/a.ts", "look", []],
  ["docs/a.png", "look", []],
];

for (const [path, text, words] of ROWS)
  test(`words: ${path}: ${text}`, () => {
    const found = checkPlainWords(path, text).map(({ message }) => /"(\w+)"/.exec(message)?.[1]);
    assert.deepEqual(found, words);
  });

test("words: a finding says what to write instead", () => {
  assert.deepEqual(checkPlainWords("src/a.ts", "\n// anew"), [
    {
      rule: "words",
      path: "src/a.ts",
      line: 2,
      message: 'says "anew": write again (docs/GLOSSARY.md)',
    },
  ]);
});
