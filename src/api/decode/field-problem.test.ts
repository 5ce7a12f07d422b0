import assert from "node:assert/strict";
import { test } from "node:test";
import { quoted } from "../text/go-quote.ts";
import {
  duplicate,
  type FieldProblem,
  forbidden,
  formatProblem,
  formatProblems,
  invalid,
  notFound,
  required,
  tooLong,
  tooMany,
  unsupported,
} from "./field-problem.ts";

test("formatProblem: Kubernetes' wording", () => {
  const table: readonly [FieldProblem, string][] = [
    [required("spec.containers[0].name"), "spec.containers[0].name: Required value"],
    [required("a", "must be set"), "a: Required value: must be set"],
    [invalid("a", "x", "no"), 'a: Invalid value: "x": no'],
    [invalid("a", 0, "no"), "a: Invalid value: 0: no"],
    [invalid("a", true, "no"), "a: Invalid value: true: no"],
    [invalid("a", null, "no"), "a: Invalid value: null: no"],
    [invalid("a", { b: [1n] }, "no"), 'a: Invalid value: {"b":["1"]}: no'],
    [unsupported("a", "x", ["A", "B"]), 'a: Unsupported value: "x": supported values: "A", "B"'],
    [unsupported("a", "x", []), 'a: Unsupported value: "x"'],
    [forbidden("a", "may not"), "a: Forbidden: may not"],
    [duplicate("a", "x"), 'a: Duplicate value: "x"'],
    [notFound("a", "x"), 'a: Not found: "x"'],
    [tooLong("a", 63), "a: Too long: may not be more than 63 bytes"],
    [tooMany("a", 5, 3), "a: Too many: 5: must have at most 3 items"],
    [{ path: "a.b", kind: "unknownField", message: "" }, 'unknown field "a.b"'],
    [
      { path: "a.imag", kind: "unknownField", message: 'did you mean "image"?' },
      'unknown field "a.imag" (did you mean "image"?)',
    ],
    [
      { path: "a", kind: "typeInvalid", message: "expected a list" },
      "a: Invalid value: expected a list",
    ],
  ];
  for (const [problem, text] of table) assert.equal(formatProblem(problem), text);
});

test("formatProblems: joined and without repetition", () => {
  assert.equal(formatProblems([required("a"), required("a")]), "a: Required value");
  assert.equal(
    formatProblems([required("a"), required("b")]),
    "[a: Required value, b: Required value]",
  );
});

test("quoted: escapes of Go, bounded length", () => {
  assert.equal(quoted('a"\\\n\u0000\u0007\u007fé'), '"a\\"\\\\\\n\\x00\\a\\x7fé"');
  assert.ok(quoted("x".repeat(1_000_000)).length < 1100);
  assert.ok(formatProblem(invalid("a", ["x".repeat(1_000_000)], "no")).length < 1100);
});
