// Loads test files into this process, one after the other: node tools/testing/load-files.mjs <test file>…
// Each is a suite named by its path, so that its hooks hold for its own tests only.
import { describe } from "node:test";
import { pathToFileURL } from "node:url";

const MAX_TIMER_MS = 2 ** 31 - 1;
/** A test may wait for what does not keep the process running, as it may in a file of its own. */
const running = setInterval(() => {}, MAX_TIMER_MS);

for (const path of process.argv.slice(2))
  await describe(path, async () => {
    await import(pathToFileURL(path).href);
  });

clearInterval(running);
