import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { build } from "esbuild";
import { lazyModules } from "./lazy-modules.mjs";

const folder = mkdtempSync(join(tmpdir(), "lazy-modules-"));
after(() => rmSync(folder, { recursive: true }));

/** Says whether Node has loaded a module, before and after a name of it is used. */
const PROGRAM = `
  import { gunzipSync, gzipSync } from "node:zlib";
  const isLoaded = () => process.moduleLoadList.includes("NativeModule zlib");
  const before = isLoaded();
  const text = gunzipSync(gzipSync("as it was")).toString();
  console.log(JSON.stringify([before, text, isLoaded()]));
`;

/** What the program prints when it is bundled in this way. */
async function bundled(lazy: readonly string[]): Promise<unknown> {
  const outfile = join(folder, "program.cjs");
  await build({
    stdin: { contents: PROGRAM, loader: "js" },
    bundle: true,
    platform: "node",
    format: "cjs",
    plugins: [lazyModules(lazy)],
    outfile,
  });
  return JSON.parse(execFileSync(process.execPath, [outfile], { encoding: "utf8" }));
}

test("lazyModules: a module is loaded when one of its names is first used", async () => {
  assert.deepEqual(await bundled(["node:zlib"]), [false, "as it was", true]);
});

test("lazyModules: others are loaded at the start", async () => {
  assert.deepEqual(await bundled(["node:crypto", "node:stream/promises"]), [
    true,
    "as it was",
    true,
  ]);
});
