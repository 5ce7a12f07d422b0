// Setup runs with the machine's own Node, which may be as old as Debian 12's.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { importedBy } from "../testing/imports.mjs";

const ROOT = join(import.meta.dirname, "../..");
const ENTRY = "tools/setup.mjs";

/** What Node 18 does not have, with the version that brought it. */
const NEWER: Readonly<Record<string, RegExp>> = {
  "import.meta.dirname, 20.11": /\bimport\.meta\.(?:dirname|filename)\b/,
  "import.meta.resolve, 20.6": /\bimport\.meta\.resolve\b/,
  "changed copies of arrays, 20": /\.(?:toSorted|toReversed|toSpliced|with)\(/,
  "groupBy, 21": /\b(?:Map|Object)\.groupBy\b/,
  "Promise.withResolvers, 22": /\bPromise\.(?:withResolvers|try)\b/,
  "Array.fromAsync, 22": /\bArray\.fromAsync\b/,
  "operations on sets, 22": /\.(?:union|intersection|difference|isSubsetOf|isSupersetOf)\(/,
  "process.getBuiltinModule, 22": /\bprocess\.getBuiltinModule\b/,
  "using, 24": /^\s*(?:await )?using\s/m,
  "attributes of imports, 18.20": /\bwith\s*\{\s*type:/,
  "fs.globSync, 22": /\bglobSync\b/,
  "parseEnv, 20.12": /\b(?:parseEnv|loadEnvFile|styleText)\b/,
};

/** The entry and all that it loads. */
function filesOfSetup(): Map<string, string> {
  const texts = new Map([[ENTRY, ""]]);
  for (const path of texts.keys()) {
    const text = readFileSync(join(ROOT, path), "utf8");
    texts.set(path, text);
    for (const next of importedBy(path, text)) if (!texts.has(next)) texts.set(next, "");
  }
  return texts;
}

test("setup uses nothing that Node 18 does not have", () => {
  const files = filesOfSetup();
  assert.ok(files.has("tools/setup/node-sums.mjs"), "what is loaded on demand belongs to it");
  const found = [...files].flatMap(([path, text]) =>
    Object.entries(NEWER).flatMap(([name, use]) => (use.test(text) ? [`${path}: ${name}`] : [])),
  );
  assert.deepEqual(found, []);
});

test("the entry is understood by Nodes that do not know the language of the rest", () => {
  const text = readFileSync(join(ROOT, ENTRY), "utf8");
  assert.doesNotMatch(
    text,
    /^import\s[^(]/m,
    "what is imported at the top is read before any check",
  );
  assert.doesNotMatch(text, /\?\.|\?\?|^await |\bcatch \{/m);
});

for (const version of ["10.24.0", "16.20.2", "17.9.1"])
  test(`with Node ${version} setup says in one sentence what to do`, () => {
    const asOldNode = `data:text/javascript,Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } })`;
    const argv = ["--import", asOldNode, join(ROOT, ENTRY), "check", "--", "sh", "-c", "echo on"];
    const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: "utf8" });
    assert.equal(status, 1);
    assert.equal(stdout, "");
    assert.match(
      stderr,
      /^setup: Node [\d.]+ is too old .*: install Node 18 or newer and npm .*\n$/,
    );
  });
