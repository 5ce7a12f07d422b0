import assert from "node:assert/strict";
import { test } from "node:test";
import { compiledModules } from "../../../test/support/compiled-modules.ts";
import { agentNodeFlags } from "./memory.ts";

test("agentNodeFlags: none makes V8 compile Node's own modules again", () => {
  assert.deepEqual(compiledModules(agentNodeFlags(undefined)), []);
  assert.ok(compiledModules(["--optimize-for-size"]).includes("http2"), "others do");
});
