// Runs the tests and says what passed, what failed and what was left out and why:
//   node tools/run-tests.mjs [--all] [--only tidy,long,unit,histories,sim,integration,soak] [--name pattern] [--shard 1/3] [--jobs n] [--quiet] [part of path…]
// Without arguments it leaves out what testing/left-out.mjs names, and says so in the line before the last.
// The last line is always `N passed, N failed, N skipped`. A skip for a reason that testing/accepted-skips.mjs
// does not list is a failure.
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildStep } from "./setup/build-step.mjs";
import { leaveOnSignal } from "./setup/end-left.mjs";
import { withLock } from "./setup/lock.mjs";
import { SETUP_LOCK } from "./setup/root.mjs";
import { judgeSkips } from "./testing/accepted-skips.mjs";
import { batches, simulationBatches } from "./testing/batches.mjs";
import { keepDurations } from "./testing/durations.mjs";
import { ALONE, KINDS, ROOT, testFiles } from "./testing/files.mjs";
import {
  FEWER_SEEDS,
  leftLine,
  splitFiles,
  splitUnavailable,
  unavailableLine,
} from "./testing/left-out.mjs";
import {
  BOX_CONTAINERD,
  chooseContainerd,
  missingProvisions,
  provisionObstacle,
  provisionPlan,
  startProvisions,
  TODAYS_CONTAINERD,
} from "./testing/provisions.mjs";
import { createReport } from "./testing/report.mjs";
import { runFile, runTogether } from "./testing/run-file.mjs";

/** Each file has a machine of its own and half of its time is spent waiting, but all of them have the same disk. */
const MAX_INTEGRATION_JOBS = 3;

/** Processes of tests at a time for each core: unit tests wait about half of their time. */
const JOBS_PER_CORE = 2;

/** More files that fail than this are no matter of a busy machine. */
const MAX_REPEATED = 12;

const USAGE =
  "usage: node tools/run-tests.mjs [--all] [--only tidy,long,unit,histories,sim,integration,soak] [--name pattern] [--shard i/n] [--jobs n] [--quiet] [part of path…]";

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      all: { type: "boolean" },
      only: { type: "string" },
      name: { type: "string" },
      shard: { type: "string" },
      jobs: { type: "string" },
      quiet: { type: "boolean" },
    },
  });
  const kinds =
    values.only?.split(",") ?? Object.keys(KINDS).filter((kind) => !KINDS[kind].onRequest);
  const unknown = kinds.find((kind) => !(kind in KINDS));
  if (unknown !== undefined) throw new Error(`unknown kind ${unknown}\n${USAGE}`);
  const chosen = shard(
    values.shard,
    testFiles().filter(
      ({ path, kind }) =>
        kinds.includes(kind) &&
        (positionals.length === 0 || positionals.some((part) => path.includes(part))),
    ),
  );
  const { run: files, left } = isNewcomers(values, positionals)
    ? splitFiles(chosen)
    : { run: chosen };
  if (left) process.env.SIM_SEEDS ??= FEWER_SEEDS;
  if (values.all) chooseContainerd();
  const leave = leaveOnSignal();
  const report = createReport(files, { quiet: values.quiet === true });
  leave.signal.addEventListener("abort", () => report.note("ending what this run has started"));
  const common = { namePattern: values.name, signal: leave.signal, report };
  const cores = availableParallelism();
  const jobs = (most) => Number(values.jobs ?? most);
  const integration = files.filter(({ kind }) => !KINDS[kind].parallel);
  const obstacle = integration.length > 0 ? await integrationObstacle() : undefined;
  // Real pods are run by the program that was built.
  if (integration.length > 0) await withLock(SETUP_LOCK, () => buildStep({ types: false }));
  const provisions = provide(obstacle ? [] : integration, report, leave.signal);
  // Awaited after the unit tests.
  provisions.catch(() => {});
  const background = files.filter(({ kind }) => KINDS[kind].background);
  const together = files.filter(({ kind }) => KINDS[kind].parallel && !KINDS[kind].background);
  const grouped = (files, group) => (values.name === undefined ? group(files) : eachAlone(files));
  await runAll(grouped(together, batches), { ...common, jobs: jobs(JOBS_PER_CORE * cores) });
  const inTurn = grouped(background, (files) => simulationBatches(files, cores));
  const simulations = runAll(inTurn, { ...common, jobs: jobs(cores) });
  if (obstacle) for (const file of integration) report.add(judgeSkips(skipFile(file, obstacle)));
  const boxed = { ...common, jobs: jobs(Math.min(MAX_INTEGRATION_JOBS, cores + 1)) };
  // Real pods have deadlines, which a machine that compiles Kubernetes meanwhile does not meet.
  const { failed, unavailable } = await provisions;
  if (failed.length > 0) {
    const failures = failed.map((error) => ({ name: "provisions", error }));
    report.add({ ...NOTHING, path: "tools/testing/provisions.mjs", failures });
  }
  const { run: real, left: impossible } = splitUnavailable(
    obstacle ? [] : integration,
    unavailable,
  );
  const otherwise = useOwnContainerd(unavailable);
  const isAlone = ({ path }) => ALONE.includes(path);
  await runAll(eachAlone(real.filter((file) => !isAlone(file))), boxed);
  await runAll(eachAlone(real.filter(isAlone)), { ...common, jobs: 1 });
  await simulations;
  await repeatFailed(report, common);
  if (leave.signal.aborted) await leave.endLeft();
  keepDurations(report.durations());
  const lines = [unavailableLine(impossible, otherwise), left && leftLine(left)];
  report.close(leave.signal.aborted, lines.filter((line) => line !== undefined).join("\n"));
  process.exitCode = report.failed() || leave.signal.aborted ? 1 : 0;
}

/** Whoever says what to run gets all of it. */
const isNewcomers = ({ all, only, name, shard }, parts) =>
  !all && parts.length === 0 && [only, name, shard].every((value) => value === undefined);

const eachAlone = (files) => files.map((file) => [file]);

/** A result without any test. */
const NOTHING = { kind: "integration", passed: 0, failures: [], skips: [], output: "", seconds: 0 };

/**
 * Begins to get what the machine does not have yet of what the files need; resolves with what could not be had: a
 * defect, or what this machine cannot have. Continuous integration has to have everything.
 */
async function provide(files, report, signal) {
  const unavailable = new Map();
  const names = [];
  for (const name of await missingProvisions(files.map(({ path }) => path))) {
    const reason = await provisionObstacle(name);
    if (reason === undefined) names.push(name);
    else unavailable.set(name, reason);
  }
  const failed = [];
  if (names.length > 0) {
    report.note(`getting in the background, before the integration tests: ${provisionPlan(names)}`);
    const ended = await startProvisions(names, report.note, signal);
    failed.push(...ended.failed);
    for (const [name, reason] of ended.unavailable) unavailable.set(name, reason);
  }
  if (process.env.CI)
    failed.push(...[...unavailable].map(([name, reason]) => `${name}: ${reason}`));
  return { failed, unavailable };
}

/** Where today's containerd cannot be built, boxes have the machine's own; gives the words for that. */
function useOwnContainerd(unavailable) {
  const reason = unavailable.get("containerd 2");
  if (reason === undefined) return [];
  process.env[BOX_CONTAINERD] = "machine";
  return [`the machine's containerd instead of ${TODAYS_CONTAINERD}, ${reason}`];
}

/** Runs groups of files, `jobs` at a time. */
async function runAll(groups, { jobs, report, ...options }) {
  const waiting = [...groups];
  const worker = async () => {
    for (let files = waiting.shift(); files && !options.signal.aborted; files = waiting.shift()) {
      for (const file of files) report.start(file);
      for (const result of await runGroup(files, options)) report.add(judgeSkips(result));
    }
  };
  await Promise.all(Array.from({ length: jobs }, worker));
}

/**
 * Runs files that have failed once more, each by itself: where a machine was too busy for their deadlines they pass, and a
 * defect shows again. Both outcomes are reported. Of the simulation nothing is repeated, since nothing in it can be late, and
 * nothing at all when many have failed.
 */
async function repeatFailed(report, { namePattern, signal }) {
  const failed = report.failedFiles();
  if (failed.length > MAX_REPEATED) return;
  for (const file of failed)
    if (
      KINDS[file.kind] &&
      !KINDS[file.kind].background &&
      file.path.endsWith(".ts") &&
      !signal.aborted
    )
      report.repeat(judgeSkips(await runFile(file, { namePattern, signal })));
}

async function runGroup(files, options) {
  return files.length > 1 ? await runTogether(files, options) : [await runFile(files[0], options)];
}

/** Why integration tests cannot run here; the rule itself belongs to the box. */
async function integrationObstacle() {
  const { boxObstacle } = await import("../test/box/prerequisites.ts");
  return boxObstacle();
}

/** All tests of a file, as far as they can be seen without running it, counted as skipped. */
function skipFile({ path, kind }, reason) {
  const source = readFileSync(join(ROOT, path), "utf8");
  const names = [...source.matchAll(/^\s*(?:await )?(?:test|it)\(\s*["'`](.*?)["'`],/gm)].map(
    (match) => match[1],
  );
  const skips = (names.length > 0 ? names : ["the file"]).map((name) => ({ name, reason }));
  return { ...NOTHING, path, kind, skips };
}

/** Every n-th file, beginning with the i-th. */
function shard(spec, files) {
  if (spec === undefined) return files;
  const match = /^(\d+)\/(\d+)$/.exec(spec);
  const [index, count] = [Number(match?.[1]), Number(match?.[2])];
  if (!match || index < 1 || index > count)
    throw new Error(`--shard expects i/n, not ${spec}\n${USAGE}`);
  return files.filter((_, at) => at % count === index - 1);
}

await main().catch((error) => {
  console.error(error.message);
  process.exitCode = 2;
});
