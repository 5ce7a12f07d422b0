// Programs with their code caches, as they are shipped and started.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { build } from "esbuild";
import { programFiles } from "../build.mjs";
import {
  compileFunctions,
  listFunctions,
  PROGRAMS,
  recordedFunctions,
  writeCodeCache,
} from "./code-cache.mjs";
import { type Coverage, calledFunctions } from "./coverage.ts";
import { PROGRAM_OFFSET } from "./program-text.mjs";

const base = mkdtempSync(join(tmpdir(), "code-cache-"));
after(() => rmSync(base, { recursive: true }));
const dist = join(base, "dist");
mkdirSync(join(base, "bin"));
copyFileSync(join(import.meta.dirname, "../../bin/nodelet"), join(base, "bin/nodelet"));
const { programs } = await programFiles();
for (const [name, options] of Object.entries(programs))
  await build({ ...options, outfile: join(dist, name), sourcemap: false });
const written = PROGRAMS.map((name) => ({ name, ...writeCodeCache(dist, name) }));

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

test("the record of functions fits the programs", () => {
  for (const { name, functions } of written) {
    const recorded = recordedFunctions(name).size;
    assert.ok(recorded > 500, name);
    const share = Math.floor((functions / recorded) * 100);
    const message = `of the functions recorded for ${name} it has ${share} %: record them again with tools/code-cache/record.ts`;
    assert.ok(share >= 90, message);
  }
});

test("a cache has the same bytes each time, wherever it is made", () => {
  const elsewhere = join(base, "a-folder-with-a-longer-name");
  mkdirSync(elsewhere);
  copyFileSync(join(dist, "cli.cjs"), join(elsewhere, "cli.cjs"));
  writeCodeCache(elsewhere, "cli");
  const [here, there] = [dist, elsewhere].map((folder) =>
    readFileSync(join(folder, "cli.code-cache")),
  );
  assert.ok(here && there?.equals(here));
});

/** Each function holds a word that its compiled code has and nothing else. */
const SMALL = `"use strict";
function outer(list) { "<in outer>".at(0); return list.map((x) => x + "<in arrow>") }
const chain = (a = () => "<in default>") => (b) => "<in curried>" + a() + b, table = { named() { return "<in named>" } };
class Actor {
  #field = "field";
  static made = 1;
  constructor() { this.word = "<in constructor>" }
  get word2() { return "<in getter>" + this.#field }
  static async start() { return "<in start>" }
  unused() { return "<in unused>" }
}
exports.run = () => [outer(["a"]), chain()("b"), table.named(), new Actor().word2, Actor.start()];
exports.run();`;
const CALLED = {
  outer: "<in outer>",
  "outer.~0": "<in arrow>",
  chain: undefined,
  "chain.a": "<in default>",
  "chain.~0": "<in curried>",
  "table.named": "<in named>",
  "Actor.constructor": "<in constructor>",
  "Actor.word2": "<in getter>",
  "Actor.start": "<in start>",
  run: undefined,
};
const small = join(base, "small.cjs");
writeFileSync(small, SMALL);

test("a record names the functions that were called, and no others", () => {
  writeCodeCache(base, "small");
  const folder = join(base, "coverage");
  const loader = join(import.meta.dirname, "load-program.mjs");
  const script = `import(${JSON.stringify(loader)}).then((m) => m.loadProgram("small", ${JSON.stringify(base)}, require))`;
  const env = { ...process.env, NODE_V8_COVERAGE: folder };
  execFileSync(process.execPath, ["--eval", script], { env });
  const [file = ""] = readdirSync(folder);
  const { result }: Coverage = JSON.parse(readFileSync(join(folder, file), "utf8"));
  const covered = result.find(({ url }) => url === `file://${small}`);
  const names = calledFunctions(covered?.functions ?? [], listFunctions(small), PROGRAM_OFFSET);
  assert.deepEqual(names.toSorted(), Object.keys(CALLED).toSorted());
});

test("a cache holds the code of the functions asked for, and of those around them", () => {
  const functions = listFunctions(small);
  const wordsIn = (wanted: (name: string) => boolean) => {
    const cache = compileFunctions(
      small,
      functions.filter(({ name }) => wanted(name)),
    );
    const found = cache.toString("latin1").matchAll(/<in [a-z ]+>/g);
    return new Set([...found].map(([word]) => word));
  };
  const none = wordsIn(() => false);
  for (const [name, word] of Object.entries(CALLED)) {
    if (word === undefined) continue;
    const around = Object.entries(CALLED).flatMap(([other, its]) =>
      its !== undefined && name.startsWith(`${other}.`) ? [its] : [],
    );
    const words = wordsIn((each) => each === name);
    assert.deepEqual([...words.difference(none)].toSorted(), [...around, word].toSorted(), name);
  }
});
