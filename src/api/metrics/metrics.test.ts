import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parseDocumented } from "../../../test/support/documented-metrics.ts";
import { DEFAULT_SECONDS } from "./define.ts";
import { METRICS, UNSERVED_METRICS } from "./metrics.ts";

const DOCUMENTED = parseDocumented(
  readFileSync(new URL("./testdata/metrics-1.36.tsv", import.meta.url), "utf8"),
);

test("the catalogue has every documented metric once, served or with the reason why not", () => {
  const known = [...Object.keys(METRICS), ...Object.keys(UNSERVED_METRICS)].sort();
  assert.deepEqual(known, DOCUMENTED.map(({ name }) => name).sort());
  assert.ok(Object.keys(METRICS).length >= 165, `${Object.keys(METRICS).length} served`);
});

for (const { name, type, stability, labels, buckets } of DOCUMENTED)
  if (name in METRICS)
    test(`${name} has the documented type, stability, labels and buckets`, () => {
      const metric: (typeof METRICS)[keyof typeof METRICS] & { buckets?: readonly number[] } =
        METRICS[name as keyof typeof METRICS];
      if (type !== "custom") assert.equal(metric.type, type);
      assert.equal(metric.stability, stability);
      assert.deepEqual([...metric.labels].sort(), [...labels].sort());
      const usual = type === "histogram" ? DEFAULT_SECONDS : [];
      assert.deepEqual(metric.buckets ?? [], buckets.length > 0 ? buckets : [...usual]);
    });
