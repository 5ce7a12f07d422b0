import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { dumpYaml, parseYaml, parseYamlDocument, YamlError, type YamlLimits } from "./yaml.ts";

const value = (text: string, limits: Partial<YamlLimits> = {}) =>
  parseYamlDocument(text, limits).value;

function failure(text: string, limits: Partial<YamlLimits> = {}): YamlError {
  try {
    parseYaml(text, limits);
  } catch (thrown) {
    assert.ok(thrown instanceof YamlError, String(thrown));
    return thrown;
  }
  return assert.fail(`accepted: ${text.slice(0, 80)}`);
}

test("parseYaml: scalars as sigs.k8s.io/yaml reads them", () => {
  const text = readFileSync(new URL("../testdata/go-yaml-vector.yaml", import.meta.url), "utf8");
  const expected = {
    a: 420,
    b: true,
    c: "12:30:45",
    d: true,
    e: 15,
    f: 1000,
    g: "2026-01-01",
    h: 1000,
    i: null,
    j: "hello",
    k: 31,
    l: 0.5,
    m: null,
    // The key `n` itself is a boolean.
    false: 9007199254740993n,
    o: "on",
    p: true,
    q: 1,
    r: 3,
    s: 5,
    t: 8,
    v: 1,
    x: 18446744073709551615n,
    z: 1,
  };
  assert.deepEqual(value(text), expected);
});

test("parseYaml: more scalars", () => {
  const table: readonly [string, unknown][] = [
    ["0777", 511],
    ["-0644", -420],
    ["0O17", 15],
    ["0XfF", 255],
    ["-0b11", -3],
    ["_1", "_1"],
    ["1_0.5", 10.5],
    ["9223372036854775807", 9223372036854775807n],
    ["-9223372036854775808", -9223372036854775808n],
    ["18446744073709551616", 18446744073709552000],
    ["+.5e3", 500],
    [".", "."],
    ["1.2.3", "1.2.3"],
    ["100m", "100m"],
    ["!!str 5", "5"],
    ["!!int '5'", 5],
    ["'yes'", "yes"],
    ["Nope", "Nope"],
  ];
  for (const [text, expected] of table)
    assert.deepEqual(value(`a: ${text}`), { a: expected }, text);
});

test("parseYaml: documents, merge keys, JSON, odd keys", () => {
  const documents = parseYaml("# only a comment\n---\n---\na: 1\n---\n\nb: 2\n---\n");
  assert.deepEqual(documents, [
    { value: { a: 1 }, line: 4 },
    { value: { b: 2 }, line: 7 },
  ]);
  assert.deepEqual(parseYaml(""), []);
  assert.deepEqual(parseYaml("# nothing\n"), []);
  assert.deepEqual(value("base: &b {x: 1, w: 2}\nuse:\n  <<: *b\n  w: 3"), {
    base: { x: 1, w: 2 },
    use: { x: 1, w: 3 },
  });
  const json = '{\n\t"a": ["\\ud83d\\ude00", "a\\/b", 1e3, null, true],\n\t"b": {}\n}';
  assert.deepEqual(value(json), { a: ["😀", "a/b", 1000, null, true], b: {} });
  const odd = value("__proto__: {polluted: 1}\nconstructor: 2") as object;
  assert.deepEqual(Object.keys(odd), ["__proto__", "constructor"]);
  assert.equal(Object.getPrototypeOf(odd), Object.prototype);
  assert.equal("polluted" in odd, false);
  assert.deepEqual(value("\ufeffa: 1\r\nb: 2\r\n"), { a: 1, b: 2 });
});

test("parseYaml: faults say line, column and fix", () => {
  const table: readonly [string, string][] = [
    [
      "a:\n\tb: 1",
      "line 2, column 1: tab characters must not be used in indentation; indent with spaces",
    ],
    [
      "a: 1\nb:\n  c: 1\n  c: 2",
      "line 4, column 3: duplicated mapping key; keep only one of the two",
    ],
    ['{"a": 1, "a": 2}', "line 1, column 11: duplicated mapping key; keep only one of the two"],
    [
      "a: b: c",
      "line 1, column 5: bad indentation of a mapping entry; align it with its neighbours, and quote values that contain `: `",
    ],
    [
      "a: [1, 2",
      "line 1, column 9: unexpected end of the stream within a flow collection; close the bracket or brace",
    ],
    [
      "a: *x",
      'line 1, column 5: unidentified alias "x"; define it with & before its use, or quote the value if it starts with *',
    ],
    [
      "a: !foo x",
      "line 1, column 4: unknown scalar tag !<!foo>; remove the tag that starts with !",
    ],
    [
      "? [x]\n: c",
      "line 1, column 1: object-based map does not support complex keys; use plain text as key",
    ],
    [
      "a: \u0000",
      "line 1, column 4: null byte is not allowed in input; save the file as UTF-8 text",
    ],
    [
      "a: 1\nb: .inf",
      "line 2, column 4: .inf cannot be represented in JSON; use a finite number or quote it",
    ],
    ["a: &a\n- *a", 'line 2, column 4: anchor "a" contains itself; write the value out'],
  ];
  for (const [text, message] of table) assert.equal(failure(text).message, message);
  assert.equal(failure("a: 1\n\tb: 1").line, 2);
});

test("parseYaml: limits", () => {
  assert.equal(failure("a: 1", { maxBytes: 3 }).message, "more than 3 bytes; split the file");
  assert.deepEqual(value("a: é", { maxBytes: 5 }), { a: "é" });
  assert.equal(failure("a: é", { maxBytes: 4 }).message, "more than 4 bytes; split the file");
  const two = "a: 1\n---\nb: 1\n";
  assert.equal(parseYaml(two, { maxDocuments: 2 }).length, 2);
  assert.equal(failure(two, { maxDocuments: 1 }).message, "more than 1 documents; split the file");
  assert.match(failure("---\n".repeat(5000)).message, /more than 1000 documents/);
  assert.match(failure("[[[1]]]", { maxDepth: 2 }).message, /nested deeper than 2 levels/);
  assert.match(failure("[1, 2, 3]", { maxNodes: 3 }).message, /more than 3 nodes/);
  assert.deepEqual(value("[1, 2]", { maxNodes: 3 }), [1, 2]);
});

test("parseYaml: an alias bomb is refused with one clear error", () => {
  const levels = Array.from(
    { length: 30 },
    (_, i) => `a${i + 1}: &a${i + 1} [${Array(10).fill(`*a${i}`).join(", ")}]`,
  );
  const bomb = `a0: &a0 [x, x, x]\n${levels.join("\n")}\n`;
  const thrown = failure(bomb);
  assert.match(
    thrown.message,
    /^line \d+, column \d+: more than 500000 nodes once aliases are written out/,
  );
  // Many aliases of something small are no bomb.
  const many = `a: &a {x: 1}\nlist: [${Array(1000).fill("*a").join(", ")}]`;
  assert.equal((value(many) as { list: unknown[] }).list.length, 1000);
  const merges = `a: &a {${Array.from({ length: 1000 }, (_, i) => `k${i}: 1`).join(", ")}}\n`;
  const merged = Array.from({ length: 50 }, (_, i) => `m${i}:\n  <<: *a`).join("\n");
  assert.ok(failure(merges + merged) instanceof YamlError);
});

test("parseYaml: nesting 100,000 deep neither overflows the stack nor passes", () => {
  const deep = 100_000;
  for (const text of [
    "[".repeat(deep),
    "[".repeat(deep) + "]".repeat(deep),
    "{a: ".repeat(deep),
    '{"a":'.repeat(deep),
    "- ".repeat(deep),
    "? ".repeat(deep),
    "a: [".repeat(deep),
    "!!map {".repeat(deep),
  ]) {
    assert.ok(failure(text).message.length < 300);
    assert.ok(failure(text, { maxDepth: 1_000_000 }).message.length < 300);
  }
});

test("parseYaml: hostile runs of one character stay linear", () => {
  const size = 200_000;
  const inputs = [
    ..."'\"|>-?:,[]{}#&*!%@`\t ~.".split("").map((c) => c.repeat(size)),
    `a: "${"\\x41".repeat(size)}"`,
    `a: ${"- ".repeat(50)}${"x ".repeat(size)}`,
    `${"a:\n".repeat(3)}${" ".repeat(size)}x`,
    `a: ${"1_".repeat(size)}`,
    `a: ${"0".repeat(size)}`,
    "\n".repeat(size),
    "x: y\n".repeat(10) + "z".repeat(size),
  ];
  for (const text of inputs)
    try {
      parseYaml(text);
    } catch (thrown) {
      assert.ok(
        thrown instanceof YamlError,
        `${text.slice(0, 10)}: ${String(thrown).slice(0, 200)}`,
      );
    }
});

test("parseYamlDocument: requires exactly one", () => {
  assert.throws(() => parseYamlDocument(""), /no document found/);
  assert.throws(() => parseYamlDocument("a: 1\n---\nb: 1"), /line 3, column 1: only one document/);
});

const json = fc.letrec((tie) => ({
  node: fc.oneof(
    { maxDepth: 4 },
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc.string(),
    fc.constantFrom(
      "yes",
      "on",
      "0644",
      "1e3",
      "~",
      "null",
      "- a",
      "a: b",
      "#x",
      "*x",
      "0x1",
      "\t",
      "a\nb\n",
      " x",
      "é",
      "2026-01-01",
      "1_000",
      ".5",
      "+1",
      "<<",
      "=",
      "!x",
      "%x",
      "@x",
      "-_0",
      "+_.5",
    ),
    fc.array(tie("node"), { maxLength: 4 }),
    fc.dictionary(
      fc.oneof(fc.string({ maxLength: 8 }), fc.constantFrom("y", "n", "1", "on")),
      tie("node"),
      { maxKeys: 4 },
    ),
  ),
})).node;

test("dumpYaml: what is written is read back the same (property)", () => {
  fc.assert(
    fc.property(json, (data) => {
      if (data === null) return;
      const plain: unknown = JSON.parse(JSON.stringify(data));
      assert.deepEqual(JSON.parse(JSON.stringify(value(dumpYaml(plain)))), plain);
    }),
    { numRuns: 500 },
  );
});

test("dumpYaml: the style of kubectl", () => {
  const pod = {
    kind: "Pod",
    metadata: { annotations: { a: "true", b: "1" }, name: "x", gone: undefined },
    spec: { containers: [{ args: ["-c", "a\nb\n"], name: "c" }], empty: {}, none: [] },
  };
  assert.equal(
    dumpYaml(pod),
    `kind: Pod
metadata:
  annotations:
    a: "true"
    b: "1"
  name: x
spec:
  containers:
  - args:
    - -c
    - |
      a
      b
    name: c
  empty: {}
  none: []
`,
  );
});
