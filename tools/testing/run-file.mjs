// Runs one test file in a process of its own, with a limit on its time.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { join } from "node:path";
import { CACHE_DIR } from "../debian-suite.mjs";
import { KINDS, ROOT } from "./files.mjs";

const REPORTER = join(ROOT, "tools/testing/json-reporter.cjs");
const KEPT_OUTPUT_CHARACTERS = 200_000;
const LAST_WARNING_MS = 5000;

/**
 * Resolves with `{ path, kind, passed, failures, skips, seconds, output }`. A file that does not load, does
 * not end or has no test is a failure of its own; so is a skip without a reason.
 */
export async function runFile({ path, kind }, { namePattern, signal } = {}) {
  const started = performance.now();
  const result = { path, kind, passed: 0, failures: [], skips: [], output: "", seconds: 0 };
  const child = spawn(process.execPath, [...nodeArguments(namePattern), path], {
    cwd: ROOT,
    detached: true,
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    env: { ...process.env, NODE_COMPILE_CACHE: join(CACHE_DIR, "compiled") },
  });
  if (KINDS[kind].background) yieldProcessor(child.pid);
  const limit = limitTime(child, KINDS[kind].limitSeconds, signal);
  const keep = (chunk) => {
    result.output = (result.output + chunk).slice(-KEPT_OUTPUT_CHARACTERS);
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
  for (const line of report.split("\n")) if (line !== "") count(JSON.parse(line), result);
  if (limit.reached())
    addFailure(result, "the file", `did not end in ${KINDS[kind].limitSeconds} s`);
  else if (end.code !== 0 && result.failures.length === 0)
    addFailure(result, "the file", `ended with ${end.killedBy ?? `code ${end.code}`}`);
  else if (result.passed + result.failures.length + result.skips.length === 0 && !namePattern)
    addFailure(result, "the file", "has no test");
  result.seconds = (performance.now() - started) / 1000;
  return result;
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
  return namePattern ? [...reporter, `--test-name-pattern=${namePattern}`] : reporter;
}

function count(event, result) {
  const skip = event.skip ?? event.todo;
  if (skip !== undefined && skip !== false) {
    const reason = typeof skip === "string" && skip !== "" ? skip : undefined;
    if (event.skip === undefined)
      result.skips.push({ name: event.name, reason: reason ?? "to do" });
    else if (reason) result.skips.push({ name: event.name, reason });
    else addFailure(result, event.name, "is skipped without a reason");
  } else if (event.passed) {
    if (!event.suite) result.passed++;
  } else if (!event.onlySubtests)
    addFailure(result, `${event.name} (line ${event.line})`, event.error);
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
