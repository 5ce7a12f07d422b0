// Code caches of the programs in dist/: what V8 compiles of a program's functions before it runs them, made when the program is built. A cache holds the
// functions that were recorded when a node ran (functions.tsv, by record.ts); all others are compiled when they are first called, as ever.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cacheDigest } from "./load-program.mjs";

/** Names of functions by the name of the program, as they were recorded. */
export const RECORD = join(import.meta.dirname, "functions.tsv");

/** Programs in dist/ that have one. */
export const PROGRAMS = ["agent", "cli"];

/** Attempts to compile a program twice to the same bytes. */
const ATTEMPTS = 5;

/**
 * Flags of V8 under which it writes the same bytes each time; they do not belong to those that a cache depends on. The agent's own flags do, so
 * it loads its program before it sets them.
 */
const REPRODUCIBLE = ["--random-seed=1", "--predictable"];

const OUTPUT_LIMIT_BYTES = 256 * 1024 * 1024;

/** Makes the cache of `dist/<name>.cjs`; throws when it cannot be made, or never twice the same. */
export function writeCodeCache(folder, name) {
  const path = join(folder, `${name}.cjs`);
  const text = readFileSync(path);
  // The program is read as Latin-1, which takes V8 half the memory.
  if (text.some((byte) => byte > 0x7f)) throw new Error(`${path} is not plain ASCII`);
  const wanted = recordedFunctions(name);
  const functions = listFunctions(path).filter((each) => wanted.has(each.name));
  const cachedData = compileFunctions(path, functions);
  const cache = Buffer.concat([cachedData, cacheDigest(text, cachedData)]);
  writeFileSync(join(folder, `${name}.code-cache`), cache);
  return { bytes: cache.length, functions: functions.length };
}

/** Names of the functions of a program that were recorded. */
export function recordedFunctions(program) {
  const lines = readFileSync(RECORD, "utf8").split("\n");
  const rows = lines.map((line) => line.split("\t")).filter(([of]) => of === program);
  return new Set(rows.map(([, name]) => name));
}

/** All functions of a program with their names, ranges and an offset that is inside of each only. */
export function listFunctions(path) {
  const argv = ["--expose-internals", "--no-warnings", script("list-functions.cjs"), path];
  return JSON.parse(runNode(argv).toString("utf8"));
}

/** V8's code cache of a program, with these of its functions compiled. */
export function compileFunctions(path, functions) {
  const offsets = functions.map(({ own }) => own).toSorted((a, b) => a - b);
  const argv = [...REPRODUCIBLE, script("compile.mjs"), path];
  let last;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const cache = runNode(argv, JSON.stringify(offsets));
    if (last?.equals(cache)) return cache;
    last = cache;
  }
  throw new Error(`the code cache of ${path} was never the same twice in ${ATTEMPTS} attempts`);
}

function script(name) {
  return join(import.meta.dirname, name);
}

/** What Node writes to its standard output; settings of the caller's Node are not taken over, since they could change it. */
function runNode(argv, input = "") {
  const { NODE_OPTIONS, NODE_V8_COVERAGE, ...env } = process.env;
  const { status, signal, stdout, stderr, error } = spawnSync(process.execPath, argv, {
    env,
    input,
    maxBuffer: OUTPUT_LIMIT_BYTES,
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`node ${argv.join(" ")}: ${signal ?? status}\n${stderr}`);
  return stdout;
}
