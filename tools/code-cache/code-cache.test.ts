// Programs with their code caches, as they are shipped and started.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { build } from "esbuild";
import { programFiles } from "../build.mjs";
import { compileSources, FOLDERS, PROGRAMS, programRanges, writeCodeCache } from "./code-cache.mjs";
import { sourceRanges } from "./source-ranges.mjs";

const base = mkdtempSync(join(tmpdir(), "code-cache-"));
after(() => rmSync(base, { recursive: true }));
const dist = join(base, "dist");
mkdirSync(join(base, "bin"));
copyFileSync(join(import.meta.dirname, "../../bin/nodelet"), join(base, "bin/nodelet"));
const { programs } = await programFiles();
for (const [name, options] of Object.entries(programs))
  await build({ ...options, outfile: join(dist, name) });
for (const name of PROGRAMS) writeCodeCache(dist, name);

/** Has a process say on its standard error whether V8 took each code cache. */
const REPORTER = join(base, "reporter.cjs");
writeFileSync(
  REPORTER,
  `const vm = require("node:vm"), { Script } = vm;
  vm.Script = class extends Script {
    constructor(text, options) {
      super(text, options);
      require("node:fs").writeSync(2, this.cachedDataRejected ? "refused" : "accepted");
    }
  };`,
);

/** What a command prints, and what became of the code cache of its program. */
function start(args: readonly string[], nodeOptions = ""): { printed: string; cache: string } {
  const { stdout, stderr } = spawnSync(join(base, "bin/nodelet"), args, {
    encoding: "utf8",
    env: {
      PATH: process.env["PATH"],
      NODELET_NODE: process.execPath,
      NODE_OPTIONS: `--require=${REPORTER} ${nodeOptions}`,
    },
  });
  return { printed: stdout.trim(), cache: stderr };
}

const VERSION = ["run", "--version"];
const AGENT = join(dist, "agent.cjs");
const CACHE = join(dist, "agent.code-cache");
const { printed: version } = start(VERSION);

test("V8 takes the cache of an agent and of a command that the launcher starts", () => {
  assert.match(version, /^Kubernetes v1\.\d+\.\d+\+nodelet/);
  assert.deepEqual(start(VERSION), { printed: version, cache: "accepted" });
  const limit = "--max-old-space-size=300";
  assert.deepEqual(start(VERSION, limit), { printed: version, cache: "accepted" });
  const { printed, cache } = start(["version", "--help"]);
  assert.match(printed, /nodelet version/);
  assert.equal(cache, "accepted");
});

test("a cache that does not belong to the program is not used, and the program runs", () => {
  const [program, cache] = [readFileSync(AGENT), readFileSync(CACHE)];
  const altered = Buffer.from(cache);
  altered[altered.length >> 1] = (altered[altered.length >> 1] ?? 0) ^ 1;
  const table: Record<string, Buffer | undefined> = {
    altered,
    "cut off": cache.subarray(0, cache.length / 2),
    empty: Buffer.alloc(0),
    "of another program": readFileSync(join(dist, "cli.code-cache")),
    missing: undefined,
  };
  try {
    for (const [name, content] of Object.entries(table)) {
      if (content) writeFileSync(CACHE, content);
      else rmSync(CACHE);
      assert.deepEqual(start(VERSION), { printed: version, cache: "" }, name);
    }
    writeFileSync(CACHE, cache);
    // As long as before, which is all that V8 compares.
    writeFileSync(AGENT, program.toString("latin1").replaceAll("Kubernetes ${", "kubernetes ${"));
    const printed = version.replace("Kubernetes", "kubernetes");
    assert.deepEqual(start(VERSION), { printed, cache: "" });
  } finally {
    writeFileSync(AGENT, program);
    writeFileSync(CACHE, cache);
  }
});

test("a cache that V8 refuses because of its flags leaves a program that runs", () => {
  const refused = { printed: version, cache: "refused" };
  assert.deepEqual(start(VERSION, "--stack-trace-limit=20"), refused);
});

test("every folder that is named for a cache has functions in a program", () => {
  for (const name of PROGRAMS) {
    const sources = programRanges(join(dist, `${name}.cjs`)).map(({ source }) => source);
    const { often, rarely } = FOLDERS[name] ?? { often: [], rarely: [] };
    for (const folder of often)
      assert.ok(
        sources.some((each) => each.startsWith(folder)),
        folder,
      );
    for (const folder of rarely)
      assert.ok(
        sources.some((each) => each.includes(folder)),
        folder,
      );
  }
});

test("a cache has the same bytes each time, wherever it is made", () => {
  const elsewhere = join(base, "a-folder-with-a-longer-name");
  mkdirSync(elsewhere);
  for (const name of ["cli.cjs", "cli.cjs.map"])
    copyFileSync(join(dist, name), join(elsewhere, name));
  writeCodeCache(elsewhere, "cli");
  const [here, there] = [dist, elsewhere].map((folder) =>
    readFileSync(join(folder, "cli.code-cache")),
  );
  assert.ok(here && there?.equals(here));
});

/** Each function holds a word that its compiled code has and nothing else. */
const SOURCES = {
  "often/a.ts": `
    export function outer(list: readonly string[]) { "<often outer>".at(0); return list.map((x) => x + "<often arrow>"); }
    export class Actor { constructor(readonly word = "<often constructor>") {} get unused() { return "<often getter>"; } }`,
  "rarely/b.ts": `export const rare = () => { "<rare function>".at(0); return () => "<rare arrow>"; };`,
  "main.ts": `
    import { Actor, outer } from "./often/a.ts";
    import { rare } from "./rarely/b.ts";
    export const run = () => [outer(["<main function>"]), new Actor(), rare()];`,
};

test("a cache holds the code of the sources that are chosen, and no other", async () => {
  for (const [name, text] of Object.entries(SOURCES)) {
    mkdirSync(join(base, "small", dirname(name)), { recursive: true });
    writeFileSync(join(base, "small", name), text);
  }
  const small = join(base, "small.cjs");
  await build({
    entryPoints: [join(base, "small/main.ts")],
    outfile: small,
    bundle: true,
    format: "cjs",
    platform: "node",
    minifyWhitespace: true,
    sourcemap: "external",
  });
  const wordsIn = (part: string) => {
    const cache = compileSources(small, (source) => source.includes(part));
    const found = cache.toString("latin1").matchAll(/<(?:often|rare|main) [a-z]+>/g);
    return [...new Set([...found].map(([word]) => word))].toSorted();
  };
  assert.deepEqual(wordsIn("nothing"), []);
  const often = ["<often arrow>", "<often constructor>", "<often getter>", "<often outer>"];
  assert.deepEqual(wordsIn("often/"), often);
  assert.deepEqual(wordsIn("rarely/"), ["<rare arrow>", "<rare function>"]);
  assert.deepEqual(wordsIn("small/"), [
    "<main function>",
    ...often,
    "<rare arrow>",
    "<rare function>",
  ]);
});

test("sourceRanges: columns add up within a line, sources over all of them", () => {
  // Two sources in two lines; the second begins in the middle of the first line and comes back in the last.
  const map = { sources: ["src/a.ts", "src/b.ts"], mappings: "AAAA,UCAA;AAAA,gBDCA" };
  assert.deepEqual(sourceRanges(map), [
    {
      source: "src/a.ts",
      start: { lineNumber: 0, columnNumber: 0 },
      end: { lineNumber: 0, columnNumber: 10 },
    },
    {
      source: "src/b.ts",
      start: { lineNumber: 0, columnNumber: 10 },
      end: { lineNumber: 1, columnNumber: 16 },
    },
    { source: "src/a.ts", start: { lineNumber: 1, columnNumber: 16 } },
  ]);
});
