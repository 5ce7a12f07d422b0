// The mistakes that test/conformance/defects.soak.ts puts into the agent still fit its source.
import assert from "node:assert/strict";
import { test } from "node:test";
import { partOfSuite } from "../../tools/conformance/part.ts";
import { DEFECTS, misfit } from "./defects.ts";

test("every defect stands in for a text that is there once", () => {
  assert.equal(DEFECTS.length, 10);
  assert.deepEqual(DEFECTS.map(misfit).filter(Boolean), []);
  for (const { text, instead } of DEFECTS) assert.notEqual(text, instead);
  for (const { word, first } of DEFECTS)
    assert.ok(
      partOfSuite().some((name) => first.test(name)),
      word,
    );
  const words = DEFECTS.map(({ word }) => word);
  assert.equal(new Set(words).size, words.length);
});
