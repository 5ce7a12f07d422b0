// Everything that can be checked without root, with one line for what is in order:
//   node tools/check.mjs [--static | --changed]
// Format, lint and types; then structure (tidy), unit tests and 30 seeds of the simulation unless --static.
// --changed checks what differs from the main branch: its files, types and structure, and the unit tests close to it.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { obstacleToSharing } from "./testing/batches.mjs";
import { affordableTests, changedFiles, closeTests } from "./testing/changed.mjs";
import { sourceFiles, testFiles } from "./testing/files.mjs";
import { importsOf } from "./testing/imports.mjs";

const ROOT = join(import.meta.dirname, "..");
const BIN = join(ROOT, "node_modules");
const SEEDS = "30";

const format = (...paths) => ({
  name: "format and lint",
  argv: [
    join(BIN, "@biomejs/biome/bin/biome"),
    ...["check", "--max-diagnostics=100", "--reporter=default", "--no-errors-on-unmatched"],
    ...paths,
  ],
});
/** What the compiler knows of files that did not change since the last check. */
const built = (name) => join(BIN, `.cache/nodelet/${name}.tsbuildinfo`);
const types = (name, folder, info) => ({
  name,
  argv: [
    join(BIN, "typescript/bin/tsc"),
    ...["-p", folder, "--incremental", "--tsBuildInfoFile", built(info)],
  ],
});
/** The page runs in browsers, which have other globals. */
const allTypes = [types("types", ".", "types"), types("types of the page", "src/page", "page")];
const tests = (name, ...args) => ({
  name,
  argv: [join(ROOT, "tools/run-tests.mjs"), "--quiet", "--only", ...args],
});
const structure = tests("structure", "tidy");

/** The steps, which run side by side: the simulation takes what processor time the others leave. */
function plan(args) {
  const fixed = [format("."), ...allTypes];
  if (args.includes("--static")) return fixed;
  if (args.includes("--changed")) return stepsOfChange(changedFiles());
  const simulation = tests(`simulation, ${SEEDS} seeds`, "sim");
  return [...fixed, structure, tests("unit tests", "unit"), simulation];
}

function stepsOfChange(changed) {
  console.log(`${changed.length} changed files`);
  const unit = testFiles()
    .filter(({ path, kind }) => kind === "unit" || (kind === "long" && changed.includes(path)))
    .map(({ path }) => path);
  const close = closeTests(changed, unit, importsOf(sourceFiles()));
  const known = new Map();
  const shares = (path) => obstacleToSharing(path, undefined, known) === undefined;
  const { run: affordable, left } = affordableTests(changed, close, shares);
  if (left > 0) console.log(`${left} tests further away are left to npm run check`);
  return [
    ...(changed.length > 0 ? [format(...changed)] : []),
    ...allTypes,
    structure,
    ...(affordable.length > 0
      ? [tests(`unit tests of ${affordable.length} files`, "unit,long", ...affordable)]
      : []),
  ];
}

const started = performance.now();
const broken = [];
await Promise.all(plan(process.argv.slice(2)).map(check));
const took = `${secondsSince(started)} s`;
console.log(
  broken.length === 0
    ? `\nall in order (${took})`
    : `\nnot in order: ${broken.join(", ")} (${took})`,
);
process.exitCode = broken.length === 0 ? 0 : 1;

async function check({ name, argv }) {
  const began = performance.now();
  const { code, output } = await run(argv);
  const last = output.trimEnd().split("\n").at(-1) ?? "";
  const summary = /^\d+ passed, /.test(last) ? ` ${last}` : "";
  console.log(`${code === 0 ? "ok  " : "FAIL"} ${name} (${secondsSince(began)} s)${summary}`);
  if (code === 0) return;
  broken.push(name);
  console.log(output.trimEnd().replace(/^(?=.)/gm, "     "));
}

function secondsSince(start) {
  return ((performance.now() - start) / 1000).toFixed(1);
}

/** Runs a script with this Node; resolves with code and all it wrote. */
function run(argv) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, argv, {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, SIM_SEEDS: process.env.SIM_SEEDS ?? SEEDS },
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => {
        output += chunk;
      });
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, output }));
  });
}
