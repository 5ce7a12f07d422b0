import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  labelRequirements,
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
} from "./labels.ts";

const selects = (text: string, labels: Record<string, string>): boolean => {
  const reading = parseLabelSelector(text);
  assert.equal(reading.kind, "selector", text);
  return reading.kind === "selector" && matchesLabels(reading.selector, labels);
};

test("parseLabelSelector, matchesLabels: table", () => {
  const labels = { app: "web", "example.com/tier": "front", n: "5", empty: "" };
  const table: readonly [string, boolean][] = [
    ["", true],
    ["  ", true],
    ["app=web", true],
    ["app==web", true],
    ["app = web , n = 5", true],
    ["app!=web", false],
    ["app!=db", true],
    ["other!=x", true],
    ["app", true],
    ["other", false],
    ["!other", true],
    ["!app", false],
    ["app in (web,db)", true],
    ["app in (db)", false],
    ["app in ()", false],
    ["empty in (,x)", true],
    ["empty=", true],
    ["empty=,app", true],
    ["app notin (db, cache)", true],
    ["app notin (web)", false],
    ["other notin (web)", true],
    ["example.com/tier=front", true],
    ["n>4", true],
    ["n>5", false],
    ["n<6,n>0", true],
    ["app>1", false],
    ["toString", false],
  ];
  for (const [text, expected] of table) assert.equal(selects(text, labels), expected, text);
});

test("parseLabelSelector: faults", () => {
  for (const text of [
    "=x",
    "a=b=c",
    "a in",
    "a in (b",
    "a in b",
    "a in (b c)",
    "a,,b",
    "a,",
    "!",
    "!a=b",
    "a near (b)",
    "a=b c",
    "a>x",
    "-a",
    "a/b/c",
    "a=-x",
    `a=${"x".repeat(64)}`,
    ")",
    "x".repeat(70_000),
  ]) {
    const reading = parseLabelSelector(text);
    assert.equal(reading.kind, "fault", text.slice(0, 20));
  }
  assert.deepEqual(parseLabelSelector("a=b=c"), {
    kind: "fault",
    message: "unable to parse requirement: found '=', expected: ',' or 'end of string'",
  });
});

test("labelRequirements: selector objects", () => {
  const reading = labelRequirements({
    matchLabels: { a: "1" },
    matchExpressions: [
      { key: "b", operator: "In", values: ["x", "y"] },
      { key: "c", operator: "DoesNotExist" },
    ],
  });
  assert.ok(reading.kind === "selector" && reading.selector !== undefined);
  assert.equal(matchesLabels(reading.selector, { a: "1", b: "y" }), true);
  assert.equal(matchesLabels(reading.selector, { a: "1", b: "y", c: "" }), false);
  assert.deepEqual(labelRequirements(undefined), { kind: "selector", selector: undefined });
  assert.equal(
    labelRequirements({ matchExpressions: [{ key: "a", operator: "Near" }] }).kind,
    "fault",
  );
});

test("parseFieldSelector, matchesFields: table", () => {
  const fields: Record<string, string> = { "metadata.name": "a,b=c\\d", "spec.nodeName": "n1" };
  const table: readonly [string, boolean | "fault"][] = [
    ["", true],
    ["spec.nodeName=n1", true],
    ["spec.nodeName==n1", true],
    ["spec.nodeName!=n1", false],
    ["spec.nodeName=n1,metadata.name=x", false],
    ["metadata.name=a\\,b\\=c\\\\d", true],
    ["status.phase=", true],
    [",spec.nodeName=n1,", true],
    ["metadata.name=a\\x", "fault"],
    ["metadata.name=a=b", "fault"],
    ["metadata.name", "fault"],
    ["metadata.name=a\\", "fault"],
  ];
  for (const [text, expected] of table) {
    const reading = parseFieldSelector(text);
    const actual =
      reading.kind === "fault"
        ? "fault"
        : matchesFields(reading.selector, (field) => fields[field]);
    assert.equal(actual, expected, text);
  }
});

test("selectors: never throw on any text (property)", () => {
  const text = fc.oneof(fc.string(), fc.stringMatching(/^[ab=!,()<> \\in]*$/));
  fc.assert(
    fc.property(text, (selector) => {
      assert.ok(["selector", "fault"].includes(parseLabelSelector(selector).kind));
      assert.ok(["selector", "fault"].includes(parseFieldSelector(selector).kind));
    }),
    { numRuns: 500 },
  );
});
