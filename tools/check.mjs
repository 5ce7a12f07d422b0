// Everything that can be checked without root, with one line for what is in order:
//   node tools/check.mjs [--static]
// Format, lint and types; then structure (tidy), unit tests and 100 seeds of the simulation unless --static.
import { spawn } from "node:child_process";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const BIN = join(ROOT, "node_modules");
const SEEDS = "100";

const STATIC = [
  {
    name: "format and lint",
    argv: [
      join(BIN, "@biomejs/biome/bin/biome"),
      "check",
      "--max-diagnostics=100",
      "--reporter=default",
      ".",
    ],
  },
  { name: "types", argv: [join(BIN, "typescript/bin/tsc"), "-p", "."] },
];
const TESTS = [
  { name: "structure", argv: [join(ROOT, "tools/run-tests.mjs"), "--quiet", "--only", "tidy"] },
  { name: "unit tests", argv: [join(ROOT, "tools/run-tests.mjs"), "--quiet", "--only", "unit"] },
  {
    name: `simulation, ${SEEDS} seeds`,
    argv: [join(ROOT, "tools/run-tests.mjs"), "--quiet", "--only", "sim"],
  },
];

const steps = process.argv.includes("--static") ? STATIC : [...STATIC, ...TESTS];
const broken = [];
for (const { name, argv } of steps) {
  const started = performance.now();
  const { code, output } = await run(argv);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const last = output.trimEnd().split("\n").at(-1) ?? "";
  const summary = /^\d+ passed, /.test(last) ? ` ${last}` : "";
  console.log(`${code === 0 ? "ok  " : "FAIL"} ${name} (${seconds} s)${summary}`);
  if (code === 0) continue;
  broken.push(name);
  console.log(output.trimEnd().replace(/^(?=.)/gm, "     "));
}
console.log(broken.length === 0 ? "\nall in order" : `\nnot in order: ${broken.join(", ")}`);
process.exitCode = broken.length === 0 ? 0 : 1;

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
