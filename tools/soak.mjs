// Long runs that are too slow for every change:
//   node tools/soak.mjs [--seeds n] [--first n] [part of path…]
// Thousands of seeds of the simulation, then every test/**/*.soak.ts (chaos on real containerd, crash series,
// histories). How long these are: NODELET_CHAOS_PODS, NODELET_CHAOS_SECONDS, NODELET_CHAOS_SEED, NODELET_CRASH_ROUNDS.
// The last line is always `N passed, N failed, N skipped`.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seeds: { type: "string", default: "5000" },
    first: { type: "string", default: "1" },
  },
});
for (const name of ["seeds", "first"])
  if (!/^[1-9]\d*$/.test(values[name])) {
    console.error(`--${name} expects a whole number above 0, not ${values[name]}`);
    process.exit(2);
  }
const { status } = spawnSync(
  process.execPath,
  [join(import.meta.dirname, "run-tests.mjs"), "--only", "sim,soak", ...positionals],
  { stdio: "inherit", env: { ...process.env, SIM_SEEDS: values.seeds, SIM_FIRST: values.first } },
);
process.exit(status ?? 1);
