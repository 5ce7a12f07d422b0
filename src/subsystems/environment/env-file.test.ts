import assert from "node:assert/strict";
import { test } from "node:test";
import type { EnvValue } from "../../api/env/env.ts";
import { readEnvFile } from "./env-file.ts";

const FILE = `# a comment
A='1'

  B='two words # no comment'  # a comment
MULTI='line one
# line two
line three'
A='again'
DOLLAR='$(A) \\n'\r
EMPTY= 'not the value'
QUOTED=''
odd name='x'
CRLF='one\r
two'
`;
const key = (name: string, optional = false) => ({ key: name, path: "env", optional });
const value = (text: string): EnvValue => ({ kind: "value", value: text });

const KEYS: readonly (readonly [string, string])[] = [
  ["A", "1"],
  ["B", "two words # no comment"],
  ["MULTI", "line one\n# line two\nline three"],
  ["DOLLAR", "$(A) \\n"],
  ["EMPTY", ""],
  ["QUOTED", ""],
  ["odd name", "x"],
  ["CRLF", "one\ntwo"],
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

/** A file, and what is wrong with its second line. */
const BROKEN: readonly (readonly [string, string])[] = [
  ["B=bare", "value must be enclosed in single quotes"],
  ['B="double"', "value must be enclosed in single quotes"],
  ["B = 'x'", "whitespace before '=' is not allowed"],
  ["='x'", "empty variable name"],
  ["B", "missing '='"],
  ["B='x' y", "unexpected content after closing quote"],
  ["B='x''y'", "unexpected content after closing quote"],
  ["B='x\ny", "unclosed single quote"],
];

for (const [line, why] of BROKEN)
  test(`readEnvFile names what it cannot read, also for optional keys: ${line}`, () => {
    const message = `couldn't parse line 2 of env file env: ${why}`;
    assert.deepEqual(readEnvFile(`A='1'\n${line}`, key("C", true)), { kind: "fault", message });
    assert.deepEqual(readEnvFile(`A='1'\n${line}`, key("A")), value("1"));
  });
