import assert from "node:assert/strict";
import { test } from "node:test";
import type { EnvValue } from "../../api/env.ts";
import { readEnvFile } from "./env-file.ts";

const FILE = `# a comment
A='1'

  B = 'two words # no comment'
MULTI='line one
line two'
A='again'
DOLLAR='$(A) \\n'\r
`;
const key = (name: string, optional = false) => ({ key: name, path: "env", optional });
const value = (text: string): EnvValue => ({ kind: "value", value: text });

const KEYS: readonly (readonly [string, string])[] = [
  ["A", "again"],
  ["B", "two words # no comment"],
  ["MULTI", "line one\nline two"],
  ["DOLLAR", "$(A) \\n"],
];

for (const [name, text] of KEYS)
  test(`readEnvFile finds ${name}`, () => {
    assert.deepEqual(readEnvFile(FILE, key(name)), value(text));
  });

test("readEnvFile: what is missing is a fault unless it is optional", () => {
  assert.deepEqual(readEnvFile(FILE, key("NONE", true)), { kind: "absent" });
  assert.deepEqual(readEnvFile(undefined, key("A", true)), { kind: "absent" });
  assert.equal(readEnvFile(FILE, key("NONE")).kind, "fault");
  assert.equal(readEnvFile(undefined, key("A")).kind, "fault");
});

test("readEnvFile names the line it cannot read, also for optional keys", () => {
  const found = readEnvFile("A='1'\nB=bare\n", key("A", true));
  assert.deepEqual(found, { kind: "fault", message: "couldn't parse line 2 of env file env" });
});
