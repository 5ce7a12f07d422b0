import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { compiledModules } from "../../../../test/support/compiled-modules.ts";
import { WorkerProcess } from "./worker-process.ts";

test("a worker is started with flags that do not make V8 compile Node's own modules again", async () => {
  const worker = new WorkerProcess("in turn");
  try {
    const [, ...args] = readFileSync(`/proc/${worker.pid}/cmdline`, "utf8").split("\0");
    const flags = args.filter((arg) => arg.startsWith("--"));
    assert.ok(flags.includes("--disable-sigusr1"), flags.join(" "));
    assert.deepEqual(compiledModules(flags), []);
  } finally {
    worker.kill(new Error("the test is over"));
    await worker.exited;
  }
});
