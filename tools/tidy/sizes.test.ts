import assert from "node:assert/strict";
import { test } from "node:test";
import { checkSizes } from "./sizes.ts";
import { readSource } from "./source.ts";
import { formatViolation } from "./violation.ts";

test("checkSizes: an object literal that is spread to save lines is named, one that is chosen is not", () => {
  const planted = "f({\n  ...{ a, b },\n  ...(c ? { c } : {}),\n  ...d,\n});\n// ...{ e }\n";
  assert.deepEqual(checkSizes(readSource("src/kit/a.ts", planted)).map(formatViolation), [
    "src/kit/a.ts:2 spreads an object literal: write its members out",
  ]);
});
