// Brings the generated table of docs/supply-chain.md up to date with package-lock.json. With --check it only says whether it is.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withBroughtPackages } from "../package/brought-packages.mjs";
import { ROOT } from "../setup/root.mjs";

const path = join(ROOT, "docs/supply-chain.md");
const before = readFileSync(path, "utf8");
const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));
const after = withBroughtPackages(before, lock);
if (after !== before && process.argv.includes("--check")) {
  console.error(
    "docs/supply-chain.md is out of date: run node tools/generate/generate-supply-chain.mjs",
  );
  process.exitCode = 1;
} else if (after !== before) {
  writeFileSync(path, after);
}
