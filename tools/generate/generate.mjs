// Writes everything again that is made from tables and definitions:
//   npm run generate [-- --check]
// With --check it only says whether the pages of the documentation are up to date.
import { spawnSync } from "node:child_process";
import { join } from "node:path";

/** Pages that `--check` can judge without writing. */
const PAGES = ["generate-config-docs.mjs", "generate-metric-docs.mjs", "generate-supply-chain.mjs"];
const SOURCES = ["generate-protos.mjs", "generate-wire.mjs", "generate-api.mjs"];

const check = process.argv.includes("--check");
for (const name of check ? PAGES : [...SOURCES, ...PAGES]) {
  const argv = [join(import.meta.dirname, name), ...(check ? ["--check"] : [])];
  const { status } = spawnSync(process.execPath, argv, { stdio: "inherit" });
  if (status !== 0) process.exitCode = 1;
}
