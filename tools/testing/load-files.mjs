// Loads test files into this process: node tools/testing/load-files.mjs <test file>…
import { pathToFileURL } from "node:url";

for (const path of process.argv.slice(2)) await import(pathToFileURL(path).href);
