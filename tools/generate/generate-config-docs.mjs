// Brings the generated tables of docs/configuration.md up to date with src/config/fields/fields.ts, the feature
// gates and the flags. With --check it only says whether they are.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { withGeneratedSections } from "../../src/config/config-docs.ts";

const path = join(dirname(fileURLToPath(import.meta.url)), "../../docs/configuration.md");
const before = readFileSync(path, "utf8");
const after = withGeneratedSections(before);
if (after !== before && process.argv.includes("--check")) {
  console.error(
    "docs/configuration.md is out of date: run node tools/generate/generate-config-docs.mjs",
  );
  process.exitCode = 1;
} else if (after !== before) {
  writeFileSync(path, after);
}
