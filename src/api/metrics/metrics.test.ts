import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { documentedMetrics } from "../../../test/support/documented-metrics.ts";
import { DEFAULT_SECONDS } from "./define.ts";
import { METRICS, UNSERVED_METRICS } from "./metrics.ts";
import { withMetricTable } from "./metrics-docs.ts";

const DOCUMENTED = documentedMetrics();

test("the catalogue has every documented metric once, served or with the reason why not", () => {
  const known = [...Object.keys(METRICS), ...Object.keys(UNSERVED_METRICS)].sort();
  assert.deepEqual(known, DOCUMENTED.map(({ name }) => name).sort());
  assert.ok(Object.keys(METRICS).length >= 173, `${Object.keys(METRICS).length} served`);
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

test("withMetricTable writes a row for every metric between the markers, and nothing else", () => {
  const marked = (table: string) => `a\n<!-- begin metrics -->\n${table}<!-- end metrics -->\nb\n`;
  const places = { servedBy: () => ["src/some/file.ts"], tests: () => ["test/some.test.ts"] };
  const first = withMetricTable(marked("old\n"), places);
  const served = `${Object.keys(METRICS).length} of ${DOCUMENTED.length} `;
  assert.ok(first.startsWith(`a\n<!-- begin metrics -->\n${served}`));
  const row = "| `kubelet_evictions` | counter | ALPHA | `eviction_signal` |";
  assert.ok(first.includes(`\n${row} \`some/file.ts\` | \`test/some.test.ts\` |\n`));
  assert.ok(
    first.includes(
      "\n| `csi_node_storage_health_status` | the gate CSIVolumeHealth has no effect |\n",
    ),
  );
  assert.ok(first.endsWith("<!-- end metrics -->\nb\n"));
  assert.equal(withMetricTable(first, places), first);
});

test("docs/metrics.md has a row for every documented metric", () => {
  const text = readFileSync(new URL("../../../docs/metrics.md", import.meta.url), "utf8");
  const known = [...Object.keys(METRICS), ...Object.keys(UNSERVED_METRICS)];
  const missing = known.filter((name) => !text.includes(`\n| \`${name}\` | `));
  assert.deepEqual(missing, [], "run tools/generate/generate-metric-docs.mjs");
});
