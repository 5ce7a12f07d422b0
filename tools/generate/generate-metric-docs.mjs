// Brings the generated table of docs/metrics.md up to date with src/api/metrics and with where each metric is counted
// and tested. With --check it only says whether it is.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { withMetricTable } from "../../src/api/metrics/metrics-docs.ts";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const path = join(root, "docs/metrics.md");
const isTest = (file) => /\.(test|it)\.ts$/.test(file);
/** Where metrics are named, and not counted. */
const CATALOGUE = /^src\/api\/metrics\/(?:[a-z]+-)?metrics(?:-docs|\.test)?\.ts$/;
const COMPARED = "test/server/metrics.test.ts";

const files = ["src", "test"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true })
    .map((file) => `${folder}/${file}`)
    .filter((file) => file.endsWith(".ts") && !CATALOGUE.test(file))
    .map((file) => ({ file, text: readFileSync(join(root, file), "utf8") })),
);
const holding = (pick, pattern) => (name) =>
  files
    .filter(({ file, text }) => pick(file) && pattern(name).test(text))
    .map(({ file }) => file)
    .sort();
/** `METRICS.name`, `"name"`, or the template that makes a family of them. */
const uses = (name) => {
  const family = name.replace(
    /^(container|node|pod)(_cpu_usage_seconds_total|_memory_working_set_bytes|_swap_usage_bytes)$/,
    `\${of}$2`,
  );
  const quoted = [name, family].map((each) => each.replaceAll(/[$.*+?^{}()|[\]\\]/g, "\\$&"));
  return new RegExp(
    `METRICS\\.${quoted[0]}\\b|["\`]${quoted[0]}["\`]|METRICS\\[\`${quoted[1]}\`\\]`,
  );
};
const servedBy = holding((file) => file.startsWith("src/") && !isTest(file), uses);
const named = holding(isTest, (name) => new RegExp(`${name}(_bucket|_count|_sum)?\\b`));
const tests = (name) => [...new Set([...named(name).slice(0, 2), COMPARED])];

const before = readFileSync(path, "utf8");
const after = withMetricTable(before, { servedBy, tests });
if (after !== before && process.argv.includes("--check")) {
  console.error("docs/metrics.md is out of date: run node tools/generate/generate-metric-docs.mjs");
  process.exitCode = 1;
} else if (after !== before) {
  writeFileSync(path, after);
}
