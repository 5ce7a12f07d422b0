// How long test files and provisions took the last time, kept for the machine, and what a run may therefore still take.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CACHE_DIR } from "../debian-suite.mjs";

const FILE = join(CACHE_DIR, "durations.json");
/** Of a file that never ran here, by kind; on two cores. */
const USUAL_SECONDS = {
  tidy: 20,
  long: 15,
  unit: 0.4,
  histories: 60,
  sim: 3,
  integration: 20,
  soak: 1800,
};
/** How many files of a kind usually run at once. */
const AT_ONCE = { integration: 3 };
const USUALLY_AT_ONCE = 2;
/** Before so much of a run is done, its pace says nothing. */
const PACE_AFTER = 0.1;
/** A file that runs is not over, however long it has run. */
const MOST_OF_A_FILE = 0.9;
/** A machine is not that much slower than the last time. */
const MOST_SLOWER = 4;

/** Seconds by path of a file or name of a provision; empty when there are none or they cannot be read. */
export function readDurations(file = FILE) {
  try {
    const known = JSON.parse(readFileSync(file, "utf8"));
    return new Map(Object.entries(known).filter(([, seconds]) => Number.isFinite(seconds)));
  } catch {
    return new Map();
  }
}

/** Adds to what is kept. That it cannot be kept harms nobody. */
export function keepDurations(entries, file = FILE) {
  try {
    const all = Object.fromEntries([...readDurations(file), ...entries]);
    mkdirSync(dirname(file), { recursive: true });
    const aside = `${file}.${process.pid}`;
    writeFileSync(aside, `${JSON.stringify(all)}\n`);
    renameSync(aside, file);
  } catch {
    // A full or read-only disk.
  }
}

/**
 * What remains of a run: `left(done, seconds, running)` gives the seconds to go, given the paths that are done, the
 * time so far, and for how many seconds the files have run that are running.
 */
export function createForecast(files, known = readDurations()) {
  const atOnce = new Map(files.map(({ path, kind }) => [path, AT_ONCE[kind] ?? USUALLY_AT_ONCE]));
  const cost = new Map(
    files.map(({ path, kind }) => [
      path,
      (known.get(path) ?? USUAL_SECONDS[kind] ?? 1) / atOnce.get(path),
    ]),
  );
  const sum = (paths) => paths.reduce((total, path) => total + (cost.get(path) ?? 0), 0);
  const whole = sum([...cost.keys()]);
  return {
    left(done, seconds, running = []) {
      const parts = [...running].map(([path, since]) => {
        const share = since / (atOnce.get(path) ?? USUALLY_AT_ONCE);
        return Math.min(share, MOST_OF_A_FILE * (cost.get(path) ?? 0));
      });
      const ended = parts.reduce((total, part) => total + part, sum([...done]));
      const pace = ended > PACE_AFTER * whole ? seconds / ended : 1;
      return (whole - ended) * Math.min(MOST_SLOWER, Math.max(1 / MOST_SLOWER, pace));
    },
  };
}

/** `40 s`, `about 7 min`. */
export function roughly(seconds) {
  return seconds < 90
    ? `${Math.max(10, Math.ceil(seconds / 10) * 10)} s`
    : `${Math.round(seconds / 60)} min`;
}
