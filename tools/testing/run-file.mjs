// Runs test files in processes of their own, one or several in each, with a limit on their time.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { join } from "node:path";
import { CACHE_DIR } from "../debian-suite.mjs";
import { KINDS, ROOT } from "./files.mjs";

const REPORTER = join(ROOT, "tools/testing/json-reporter.cjs");
const TRACKING = join(ROOT, "tools/testing/light-tracking.cjs");
/** Loads the files of its arguments. */
const ENTRY = join(ROOT, "tools/testing/load-files.mjs");
const KEPT_OUTPUT_CHARACTERS = 200_000;
const LAST_WARNING_MS = 5000;
/** How many times longer everything may take, for machines that are emulated. */
const TIMEOUT_FACTOR = Number(process.env.NODELET_TEST_TIMEOUT_FACTOR ?? 1);

/**
 * Resolves with `{ path, kind, passed, failures, skips, seconds, output }`. A file that does not load, does
 * not end or has no test is a failure of its own; so is a skip without a reason.
 */
export async function runFile({ path, kind }, { namePattern, signal } = {}) {
  const started = performance.now();
  const result = emptyResult({ path, kind });
  const end = await runProcess([path], kind, { namePattern, signal });
  result.output = end.output;
  for (const event of end.events) count(event, result);
  if (end.late) addFailure(result, "the file", `did not end in ${limitSeconds(kind)} s`);
  else if (end.code !== 0 && result.failures.length === 0)
    addFailure(result, "the file", howEnded(end));
  else if (testsOf(result) === 0 && !namePattern) addFailure(result, "the file", "has no test");
  result.seconds = secondsSince(started);
  return result;
}

/**
 * Runs files of one kind in one process; resolves with a result for each. When the process does not report all of
 * every file, each file runs alone, so that the one at fault is named; if none is, that they fail together only
 * is a failure of the first.
 */
export async function runTogether(files, { signal } = {}) {
  const results = new Map(files.map((file) => [join(ROOT, file.path), emptyResult(file)]));
  const end = await runProcess([ENTRY, ...results.keys()], files[0].kind, { signal });
  for (const event of end.events) {
    const [path, ...names] = event.names;
    const result = results.get(path);
    if (result === undefined || (names.length === 0 && !event.passed && !event.onlySubtests))
      return await runEach(files, {
        signal,
        end: { ...end, strayErrors: [...end.strayErrors, `${path}: ${event.error}`] },
      });
    if (names.length > 0) count({ ...event, names }, result);
    else result.seconds = event.seconds;
  }
  const all = [...results.values()];
  const failed = all.some(({ failures }) => failures.length > 0);
  if (failed) for (const result of all) result.output = end.output;
  const complete = all.every((result) => testsOf(result) > 0) && !end.late;
  if (signal?.aborted || (complete && (failed || end.code === 0))) return all;
  return await runEach(files, { signal, end });
}

const limitSeconds = (kind) => KINDS[kind].limitSeconds * TIMEOUT_FACTOR;

/** Runs files alone that did not all end together. */
async function runEach(files, { signal, end }) {
  const results = [];
  for (const file of files) if (!signal?.aborted) results.push(await runFile(file, { signal }));
  if (results.every(({ failures }) => failures.length === 0)) {
    const how = end.late ? "did not end" : howEnded(end);
    const paths = files.map(({ path }) => path).join(" ");
    addFailure(results[0], "files in one process", `${how}, but each ends alone: ${paths}`);
    results[0].output = end.output;
  }
  return results;
}

/** How a process ended, with the errors that are of no test. */
function howEnded({ code, killedBy, strayErrors }) {
  return [`ended with ${killedBy ?? `code ${code}`}`, ...strayErrors].join("; ");
}

function emptyResult({ path, kind }) {
  return { path, kind, passed: 0, failures: [], skips: [], output: "", seconds: 0 };
}

const testsOf = ({ passed, failures, skips }) => passed + failures.length + skips.length;
const secondsSince = (started) => (performance.now() - started) / 1000;

/** Resolves with how the process ended, what it wrote and what its tests reported. */
async function runProcess(argv, kind, { namePattern, signal }) {
  const child = spawn(process.execPath, [...nodeArguments(namePattern), ...argv], {
    cwd: ROOT,
    detached: true,
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    env: { ...process.env, NODE_COMPILE_CACHE: join(CACHE_DIR, "compiled") },
  });
  if (KINDS[kind].background) yieldProcessor(child.pid);
  const limit = limitTime(child, limitSeconds(kind), signal);
  let output = "";
  const keep = (chunk) => {
    output = (output + chunk).slice(-KEPT_OUTPUT_CHARACTERS);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  let report = "";
  child.stdio[3].on("data", (chunk) => {
    report += chunk;
  });
  const end = await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, killedBy) => resolve({ code, killedBy }));
  });
  limit.clear();
  const lines = report.split("\n").filter((line) => line !== "");
  const reported = lines.map((line) => JSON.parse(line));
  return {
    ...end,
    late: limit.reached(),
    output,
    events: reported.filter(({ strayError }) => strayError === undefined),
    strayErrors: reported.flatMap(({ strayError }) => strayError ?? []),
  };
}

/** Lets all other processes run first. The scheduler may group processes by session; then the group counts too. */
function yieldProcessor(pid) {
  if (pid === undefined) return;
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
    writeFileSync(`/proc/${pid}/autogroup`, `${constants.priority.PRIORITY_LOW}`);
  } catch {
    // The file has ended already, or the kernel has no such groups.
  }
}

function nodeArguments(namePattern) {
  const reporter = [`--test-reporter=${REPORTER}`, "--test-reporter-destination=stdout"];
  const every = ["--require", TRACKING, ...reporter];
  return namePattern ? [...every, `--test-name-pattern=${namePattern}`] : every;
}

function count(event, result) {
  const name = event.names.join(" > ");
  const skip = event.skip ?? event.todo;
  if (skip !== undefined && skip !== false) {
    const reason = typeof skip === "string" && skip !== "" ? skip : undefined;
    if (event.skip === undefined) result.skips.push({ name, reason: reason ?? "to do" });
    else if (reason) result.skips.push({ name, reason });
    else addFailure(result, name, "is skipped without a reason");
  } else if (event.passed) {
    if (!event.suite) result.passed++;
  } else if (!event.onlySubtests) addFailure(result, `${name} (line ${event.line})`, event.error);
}

function addFailure(result, name, error) {
  result.failures.push({ name, error });
}

/** Ends the whole process group of the test when time is up or `signal` says so. */
function limitTime(child, seconds, signal) {
  let reached = false;
  let last;
  const end = (signalName) => {
    try {
      process.kill(-child.pid, signalName);
    } catch (error) {
      if (error.code !== "ESRCH") throw error;
    }
  };
  const stop = () => {
    end("SIGTERM");
    last = setTimeout(() => end("SIGKILL"), LAST_WARNING_MS);
  };
  const timer = setTimeout(() => {
    reached = true;
    stop();
  }, seconds * 1000);
  signal?.addEventListener("abort", stop, { once: true });
  return {
    reached: () => reached,
    clear() {
      clearTimeout(timer);
      clearTimeout(last);
      signal?.removeEventListener("abort", stop);
    },
  };
}
