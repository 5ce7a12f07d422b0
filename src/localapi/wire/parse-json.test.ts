import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonText } from "../../kit/json.ts";
import { parseJson } from "./parse-json.ts";

for (const [text, value] of [
  ["9007199254740991", 9007199254740991],
  ["9007199254740992", 9007199254740992n],
  ["9007199254740993", 9007199254740993n],
  ["-9007199254740993", -9007199254740993n],
  ["9223372036854775807", 2n ** 63n - 1n],
  [
    '{"a":[1,9007199254740993,"9007199254740993"]}',
    { a: [1, 9007199254740993n, "9007199254740993"] },
  ],
  ["1e30", 1e30],
  ['{"a":"1234567890123456","b":0.1}', { a: "1234567890123456", b: 0.1 }],
] as const)
  test(`parseJson, jsonText: ${text} keeps its value`, () => {
    assert.deepEqual(parseJson(text), value);
    assert.deepEqual(parseJson(jsonText(value)), value);
  });

test("parseJson: what is written as a fraction is no whole number", () => {
  assert.equal(parseJson("9007199254740994.0"), 9007199254740994);
});

test("parseJson: `__proto__` is a name like any other, beside large numbers too", () => {
  const value = parseJson('{"__proto__":{"x":9007199254740993}}') as object;
  assert.deepEqual(Object.keys(value), ["__proto__"]);
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
});
