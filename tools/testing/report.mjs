// What is shown of a test run: a line for each file as it ends, failures and skips in full at the end.

/** Collects results of `runFile` and prints; `total` is the number of files. `quiet` leaves out what passed. */
export function createReport(total, { quiet = false } = {}) {
  const results = [];
  const repeated = [];
  const running = new Set();
  const terminal = process.stdout.isTTY === true;
  const clear = () => {
    if (terminal) process.stdout.write("\r\u001b[K");
  };
  const draw = () => {
    if (!terminal) return;
    const names = [...running].join(" ").slice(0, Math.max(0, (process.stdout.columns ?? 80) - 12));
    process.stdout.write(`\r\u001b[K[${results.length}/${total}] ${names}`);
  };
  const sum = (count) => results.reduce((total, result) => total + count(result), 0);
  return {
    start(file) {
      running.add(file.path);
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
    /** The result of a file that has failed before and was run again: this one counts, both are told. */
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
    close(interrupted) {
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
