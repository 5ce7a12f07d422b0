// Code caches of the programs in dist/: what V8 compiles of a program's functions before it runs them, made when the program is built. A cache holds the
// functions of the folders below; all others are compiled when they are first called, as ever.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { cacheDigest } from "./load-program.mjs";
import { sourceRanges } from "./source-ranges.mjs";

const ROOT = join(import.meta.dirname, "../..");

/**
 * Folders of which most functions run until a node is ready and its first pods have come and gone, or in each command; and those
 * below them that run rarely, whose code would only take memory.
 */
export const FOLDERS = {
  agent: {
    often: ["src/", "node_modules/@bufbuild/"],
    rarely: [
      "/generated/",
      "src/api/validation/",
      "src/localapi/",
      "src/node/plugin-registry/",
      "src/node/pod-resources/",
      "src/node/pods-api/",
      "src/node/sockets/",
      "src/node/service/",
      "src/node/shutdown/",
      "src/outside/database/",
      "src/outside/net/streams/",
      "src/outside/plugins/",
      "src/outside/profiler/",
      "src/outside/systemd/",
      "src/outside/tokens/",
      "src/outside/tracing/",
      "src/pipeline/pods/flight/",
      "src/pipeline/pods/resize/",
      "src/pipeline/sources/",
      "src/server/debug/",
      "src/server/page/",
      "src/server/routes/",
      "src/subsystems/certificates/",
      "src/subsystems/devices/",
      "src/subsystems/environment/",
      "src/subsystems/eviction/",
      "src/subsystems/images/credentials/",
      "src/subsystems/images/gc/",
      "src/subsystems/images/pull/",
      "src/subsystems/logs/",
      "src/subsystems/neighbors/",
      "src/subsystems/probes/handlers/",
      "src/subsystems/stats/",
      "src/subsystems/volumes/",
    ],
  },
  cli: {
    often: ["node_modules/commander/", "src/config/"],
    rarely: ["src/config/validation/"],
  },
};

/** Programs in dist/ that have one. */
export const PROGRAMS = Object.keys(FOLDERS);

/** Attempts to compile a program twice to the same bytes. */
const ATTEMPTS = 5;

/**
 * Flags of V8 under which it writes the same bytes each time; they do not belong to those that a cache depends on. The agent's own flags do, so
 * it loads its program before it sets them.
 */
const REPRODUCIBLE = ["--random-seed=1", "--predictable"];

const OUTPUT_LIMIT_BYTES = 256 * 1024 * 1024;

/** Makes the cache of `dist/<name>.cjs`, which has its source map beside it; throws when it cannot be made, or never twice the same. */
export function writeCodeCache(folder, name) {
  const path = join(folder, `${name}.cjs`);
  const text = readFileSync(path);
  // The program is read as Latin-1, which takes V8 half the memory.
  if (text.some((byte) => byte > 0x7f)) throw new Error(`${path} is not plain ASCII`);
  const { often, rarely } = FOLDERS[name];
  const isCompiled = (source) =>
    often.some((each) => source.startsWith(each)) && !rarely.some((each) => source.includes(each));
  const cachedData = compileSources(path, isCompiled);
  const cache = Buffer.concat([cachedData, cacheDigest(text, cachedData)]);
  writeFileSync(join(folder, `${name}.code-cache`), cache);
  return cache.length;
}

/** Where a program has its sources, by their paths from the root of the checkout. */
export function programRanges(path) {
  const map = JSON.parse(readFileSync(`${path}.map`, "utf8"));
  const fromRoot = map.sources.map((source) => relative(ROOT, resolve(dirname(path), source)));
  return sourceRanges({ ...map, sources: fromRoot });
}

/** V8's code cache of a program, with the functions compiled of the sources that are chosen. */
export function compileSources(path, isCompiled) {
  const ranges = programRanges(path).filter(({ source }) => isCompiled(source));
  const argv = [...REPRODUCIBLE, join(import.meta.dirname, "compile.mjs"), path];
  let last;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const cache = runNode(argv, JSON.stringify(ranges));
    if (last?.equals(cache)) return cache;
    last = cache;
  }
  throw new Error(`the code cache of ${path} was never the same twice in ${ATTEMPTS} attempts`);
}

/** What Node writes to its standard output; settings of the caller's Node are not taken over, since they could change it. */
function runNode(argv, input) {
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
