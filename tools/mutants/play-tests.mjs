// Runs test files in this process and ends it with code 1 at the first that fails:
//   node tools/mutants/play-tests.mjs <test file>…
import { pathToFileURL } from "node:url";

for (const path of process.argv.slice(2)) await import(pathToFileURL(path).href);
