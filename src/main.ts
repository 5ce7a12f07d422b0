import { runAgent } from "./cli/run.ts";

// No top-level await: the bundle is CommonJS.
void runAgent(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
