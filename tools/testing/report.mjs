// What is shown of a test run: a line for each file as it ends, failures and skips in full at the end.

import { createForecast, roughly } from "./durations.mjs";

/** Without a terminal a line about progress comes so often. */
const REPORT_EVERY_MS = 30_000;

/**
 * Collects results of `runFile` of the files and prints. `quiet` leaves out what passed, and progress. `known` has
 * seconds by path, as `readDurations` gives them.
 */
export function createReport(files, { quiet = false, known } = {}) {
  const total = files.length;
  const forecast = createForecast(files, known);
  const began = performance.now();
  const results = [];
  const repeated = [];
  /** When each began. */
  const running = new Map();
  const terminal = process.stdout.isTTY === true;
  const clear = () => {
    if (terminal) process.stdout.write("\r\u001b[K");
  };
  const progress = () => {
    const done = results.map(({ path }) => path);
    const now = performance.now();
    const since = [...running].map(([path, start]) => [path, (now - start) / 1000]);
    const left = forecast.left(done, (now - began) / 1000, since);
    return `[${Math.min(done.length, total)}/${total} files, about ${roughly(left)} left] ${[...running.keys()].join(" ")}`;
  };
  const draw = () => {
    if (!terminal) return;
    process.stdout.write(`\r\u001b[K${progress().slice(0, (process.stdout.columns ?? 80) - 1)}`);
  };
  const ticker = setInterval(() => {
    if (terminal) draw();
    else if (!quiet && running.size > 0) console.log(progress());
  }, REPORT_EVERY_MS);
  ticker.unref();
  const sum = (count) => results.reduce((total, result) => total + count(result), 0);
  return {
    start(file) {
      running.set(file.path, performance.now());
      draw();
    },
    add(result) {
      running.delete(result.path);
      results.push(result);
      clear();
      if (!quiet || result.failures.length > 0) console.log(fileLine(result));
      draw();
    },
    /** Files that have failed, as `{ path, kind }`. */
    failedFiles: () => results.filter(hasFailed).map(({ path, kind }) => ({ path, kind })),
    /** The result of a file that has failed before and was run again: this one counts, both are reported. */
    repeat(result) {
      const at = results.findIndex(({ path }) => path === result.path);
      repeated.push({ first: results[at], passes: !hasFailed(result) });
      results[at] = result;
      clear();
      console.log(`${fileLine(result)}, again by itself`);
    },
    /** A line about what goes on beside the tests. */
    note(text) {
      clear();
      console.log(text);
      draw();
    },
    failed: () => results.some(hasFailed),
    /** Seconds of the files that have passed. */
    durations: () =>
      results.flatMap((result) =>
        hasFailed(result) || result.passed === 0 ? [] : [[result.path, result.seconds]],
      ),
    /** `left` are lines that name what was not to be run, or empty. */
    close(interrupted, left = "") {
      clearInterval(ticker);
      running.clear();
      clear();
      for (const result of results) printFailures("FAILED", result);
      // Of a file that failed twice both failures are shown, since the second may be another one.
      for (const { first, passes } of repeated)
        printFailures(`FAILED AT FIRST, ${passes ? "passed" : "failed again"} by itself:`, first);
      printSkips(results);
      if (interrupted) console.log("\ninterrupted: not everything was run");
      const passed = sum((result) => result.passed);
      const failed = sum((result) => result.failures.length);
      const skipped = sum((result) => result.skips.length);
      if (left !== "") console.log(`\n${left}`);
      console.log(`\n${passed} passed, ${failed} failed, ${skipped} skipped`);
    },
  };
}

function fileLine({ path, passed, failures, skips, seconds }) {
  const counts = [
    [passed, "passed"],
    [failures.length, "failed"],
    [skips.length, "skipped"],
  ].flatMap(([count, word]) => (count > 0 ? [`${count} ${word}`] : []));
  const mark = failures.length > 0 ? "FAIL" : passed > 0 ? "ok  " : "skip";
  return `${mark} ${path}: ${counts.join(", ") || "nothing matched"} (${seconds.toFixed(1)} s)`;
}

const hasFailed = ({ failures }) => failures.length > 0;

function printFailures(heading, { path, failures, output }) {
  for (const { name, error } of failures)
    console.log(`\n${heading} ${path}: ${name}\n${indent(`${error}`)}`);
  if (failures.length > 0 && output.trim() !== "")
    console.log(`\noutput of ${path}:\n${indent(output.trim())}`);
}

/** Skips of a file that share a reason are one line. */
function printSkips(results) {
  for (const { path, skips } of results) {
    const byReason = Map.groupBy(skips, (skip) => skip.reason);
    for (const [reason, group] of byReason)
      console.log(
        `\nSKIPPED ${path}: ${group.map((skip) => skip.name).join("; ")}\n  because: ${reason}`,
      );
  }
}

function indent(text) {
  return text
    .split("\n")
    .map((line) => `  ${line}`)
    .join("\n");
}
