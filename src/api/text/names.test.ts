import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyCodePoint } from "../../../test/support/any-text.ts";
import {
  byteLength,
  configMapKeyFaults,
  cutToBytes,
  dns1035LabelFaults,
  dns1123LabelFaults,
  dns1123SubdomainFaults,
  environmentNameFaults,
  type Faults,
  httpHeaderNameFaults,
  labelValueFaults,
  portNameFaults,
  portNumberFaults,
  qualifiedNameFaults,
  searchDomainFaults,
} from "./names.ts";

/** The check, what passes, what does not. */
const CHECKS: readonly [string, (text: string) => Faults, readonly string[], readonly string[]][] =
  [
    [
      "dns1123LabelFaults",
      dns1123LabelFaults,
      ["a", "0", "a-b", "a--b", "x".repeat(63)],
      ["", "A", "a.b", "-a", "a-", "a_b", "a b", "é", "x".repeat(64), "a\n"],
    ],
    [
      "dns1123SubdomainFaults",
      dns1123SubdomainFaults,
      ["a", "a.b", "a-b.c-d", "0.0", "x".repeat(253)],
      ["", ".", "a.", ".a", "a..b", "a.-b", "A", "x".repeat(254)],
    ],
    [
      "searchDomainFaults",
      searchDomainFaults,
      ["a_b", "_a._b", "a.b"],
      ["", "__a", "a_", "A", "a..b"],
    ],
    ["dns1035LabelFaults", dns1035LabelFaults, ["a", "a1-b"], ["", "1a", "a.b", "a-"]],
    [
      "qualifiedNameFaults",
      qualifiedNameFaults,
      ["a", "A_b.c-d", "example.com/a", "9", "x".repeat(63)],
      ["", "/a", "a/", "a/b/c", "-a", "a-", "A.com/a", "x".repeat(64), "a b", "a/b/c/d/e"],
    ],
    [
      "labelValueFaults",
      labelValueFaults,
      ["", "a", "A_b.c", "1"],
      ["-a", "a-", "a b", "x".repeat(64), "é"],
    ],
    [
      "portNameFaults",
      portNameFaults,
      ["http", "a-1", "x".repeat(15)],
      ["", "1", "HTTP", "a--b", "-a", "a-", "x".repeat(16)],
    ],
    [
      "configMapKeyFaults",
      configMapKeyFaults,
      ["a", "A_b.c-d", ".a", ".x"],
      ["", ".", "..", "..a", "a/b", "a b", "x".repeat(254)],
    ],
    ["httpHeaderNameFaults", httpHeaderNameFaults, ["X-A", "a"], ["", "a b", "a:b", "a_b"]],
    [
      "environmentNameFaults",
      environmentNameFaults,
      ["A", "a b", "1-.!"],
      ["", "A=B", "é", "a\tb"],
    ],
  ];

test("names: what passes and what does not", () => {
  for (const [name, check, good, bad] of CHECKS) {
    for (const text of good) assert.deepEqual(check(text), [], `${name} ${text}`);
    for (const text of bad) assert.notEqual(check(text).length, 0, `${name} ${text}`);
  }
  assert.deepEqual(portNumberFaults(1), []);
  assert.deepEqual(portNumberFaults(65535), []);
  assert.deepEqual(portNumberFaults(0), ["must be between 1 and 65535, inclusive"]);
  assert.deepEqual(portNumberFaults(65536), ["must be between 1 and 65535, inclusive"]);
});

test("names: Kubernetes' own words", () => {
  assert.deepEqual(dns1123LabelFaults("a.b"), ["must not contain dots"]);
  assert.deepEqual(dns1123LabelFaults("A"), [
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
  ]);
  assert.deepEqual(dns1123LabelFaults("x".repeat(64)), ["must be no more than 63 characters"]);
  assert.deepEqual(qualifiedNameFaults("/"), [
    "prefix part must be non-empty",
    "name part must be non-empty",
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
  ]);
});

test("names: long hostile texts are judged at once", () => {
  const size = 300_000;
  const hostile = ["a", "-", ".", "a.", "a-", "_", "-a", "/", "0", "é", " "].flatMap((part) => {
    const run = part.repeat(size / part.length);
    return [run, `${run}!`, `a${run}`, `${run}-`];
  });
  for (const [name, check] of CHECKS) {
    const bounded = name !== "environmentNameFaults" && name !== "httpHeaderNameFaults";
    for (const text of hostile) assert.equal(check(text).length > 0 || !bounded, true, name);
  }
});

test("byteLength: as UTF-8 counts (property)", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCodePoint }), (text) => {
      assert.equal(byteLength(text), new TextEncoder().encode(text).length);
    }),
  );
  assert.equal(byteLength("\ud800"), 3);
});

test("cutToBytes: fits, is a beginning, and no longer one would fit (property)", () => {
  assert.equal(cutToBytes("aäb", 2), "a");
  assert.equal(cutToBytes("aäb", 3), "aä");
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.nat(20), (text, maxBytes) => {
      const cut = cutToBytes(text, maxBytes);
      assert.ok(byteLength(cut) <= maxBytes && text.startsWith(cut));
      const [next = ""] = text.slice(cut.length);
      assert.ok(next === "" || byteLength(cut) + byteLength(next) > maxBytes);
    }),
  );
});

test("label keys and values keep the rules of qualified names", () => {
  for (const key of ["a", "a.b_c-d", "example.com/a", "A1", `${"a".repeat(63)}`]) {
    assert.deepEqual(qualifiedNameFaults(key), [], key);
  }
  for (const key of ["", "-a", "a-", "a/b/c", "/a", "Example.com/a", "a b", "a".repeat(64), "x/"]) {
    assert.notDeepEqual(qualifiedNameFaults(key), [], key);
  }
  for (const value of ["", "a", "A.b-c_1"]) assert.deepEqual(labelValueFaults(value), [], value);
  for (const value of ["-a", "a/b", " ", "a".repeat(64)]) {
    assert.notDeepEqual(labelValueFaults(value), [], value);
  }
  assert.equal(dns1123SubdomainFaults("a.b-c.d").length, 0);
  for (const name of ["", "A", "a..b", "-a", "a_b", "a."])
    assert.notEqual(dns1123SubdomainFaults(name).length, 0, name);
});
