/**
 * Measures kubelets on this machine, against each other and against the bare runtime; see
 * docs/benchmark.md. Needs root and what a node in a box needs.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";
import { join } from "node:path";
import { boxObstacle } from "../../test/box/prerequisites.ts";
import { apiServerObstacle } from "../../test/kube/apiserver.ts";
import { machineObstacle } from "../guest/uml/machine.mjs";
import { runInGuest } from "../guest/uml/run-in-guest.ts";
import { renderClusterReport } from "./cluster/cluster-report.ts";
import { measureClusterRound } from "./cluster/cluster-round.ts";
import { missedClusterTargets } from "./cluster/cluster-targets.ts";
import { type CpuProfile, flameGraph, framesOf } from "./flame-graph.ts";
import { programOf } from "./kubelet.ts";
import { type BenchOptions, parseBenchOptions, USAGE, UsageProblem } from "./options.ts";
import { missedTargets, renderReport } from "./report.ts";
import type { BenchResult, Machine, SubjectResult } from "./result.ts";
import { measureRound, type RoundOptions, type RoundResult } from "./round.ts";

async function main(argv: readonly string[]): Promise<number> {
  if (argv.includes("--help") || argv.includes("-h")) {
    console.log(USAGE);
    return 0;
  }
  const options = parseBenchOptions(argv);
  const obstacle = boxObstacle();
  if (obstacle !== undefined) throw new UsageProblem(`cannot measure here: ${obstacle}`);
  const leave = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const)
    process.once(name, () => leave.abort(new UsageProblem(`ended by ${name}`)));
  if (options.guest) return await guestRun(options, argv, leave.signal);
  const { text, result, missed } = options.cluster
    ? await clusterRun(options, leave.signal)
    : await singleRun(options, leave.signal);
  console.log(text);
  if (options.json !== undefined)
    writeFileSync(options.json, `${JSON.stringify(result, undefined, 1)}\n`);
  if (options.cpuProfile !== undefined) drawProfiles(options.cpuProfile);
  return options.strict && missed.length > 0 ? 1 : 0;
}

/** What came of a run: for the screen, for the file, and which promises were broken. */
interface Outcome {
  readonly text: string;
  readonly result: unknown;
  readonly missed: readonly string[];
}

/** The same in a guest, which has no compilers: what is measured is built before. */
async function guestRun(
  { subjects }: BenchOptions,
  argv: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  const obstacle = machineObstacle();
  if (obstacle !== undefined)
    throw new UsageProblem(`--guest: no guest can be started: ${obstacle}`);
  const say = (text: string) => process.stderr.write(`bench: ${text}\n`);
  for (const subject of subjects) await programOf(subject, say);
  const words = argv.filter((word) => word !== "--guest");
  const onLine = (line: string) => console.log(line);
  return await runInGuest(["tools/bench/bench.ts", ...words], { onLine, say, signal });
}

/** Nodes on their own, pods from files. */
async function singleRun(options: BenchOptions, signal: AbortSignal): Promise<Outcome> {
  const result = await measure(options, measureRound, signal);
  return { text: renderReport(result), result, missed: missedTargets(result.subjects) };
}

/** Nodes of a real API server. */
async function clusterRun(options: BenchOptions, signal: AbortSignal): Promise<Outcome> {
  const obstacle = apiServerObstacle();
  if (obstacle !== undefined) throw new UsageProblem(`cannot measure here: ${obstacle}`);
  const result = await measure(options, measureClusterRound, signal);
  return { text: renderClusterReport(result), result, missed: missedClusterTargets(result) };
}

async function measure<R>(
  options: BenchOptions,
  measureOne: (order: RoundOptions) => Promise<RoundResult<R>>,
  signal: AbortSignal,
): Promise<BenchResult<R>> {
  const startedAt = new Date();
  const loadBefore = loadavg()[0] ?? 0;
  const say = (text: string) => process.stderr.write(`bench ${elapsed(startedAt)}: ${text}\n`);
  const programs: { label: string; path: string }[] = [];
  for (const subject of options.subjects)
    programs.push({ label: subject.label, path: await programOf(subject, say) });
  const results: RoundResult<R>[] = [];
  for (let round = 1; round <= options.rounds; round++) {
    for (const { label, path } of programs) {
      const about = `round ${round} of ${options.rounds}, ${label}`;
      const order = {
        label,
        path,
        options,
        signal,
        say: (text: string) => say(`${about}: ${text}`),
      };
      results.push(await measureOne(order));
    }
  }
  const { rounds, pods, singles, idleSeconds, probes } = options;
  return {
    format: 1,
    startedAt: startedAt.toISOString(),
    endedAt: new Date().toISOString(),
    machine: machine(results[0]?.runtime ?? "", loadBefore),
    options: { rounds, pods, singles, idleSeconds, probes },
    subjects: programs.map(({ label }) => subjectResult(label, results)),
  };
}

/** Draws a flame graph beside every CPU profile of the folder. */
function drawProfiles(folder: string): void {
  for (const name of readdirSync(folder).filter((each) => each.endsWith(".cpuprofile"))) {
    const profile: CpuProfile = JSON.parse(readFileSync(join(folder, name), "utf8"));
    writeFileSync(join(folder, `${name}.svg`), flameGraph(framesOf(profile)));
  }
}

function subjectResult<R>(label: string, results: readonly RoundResult<R>[]): SubjectResult<R> {
  const own = results.filter(({ kubelet }) => kubelet.label === label);
  const { version = "", isNodelet = false } = own[0]?.kubelet ?? {};
  return { label, version, isNodelet, rounds: own.map(({ round }) => round) };
}

function machine(runtime: string, loadBefore: number): Machine {
  const all = cpus();
  return {
    cpus: all.length,
    cpuModel: all[0]?.model.trim() ?? "",
    memoryGib: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    runtime,
    loadBefore,
    loadAfter: loadavg()[0] ?? 0,
  };
}

function elapsed(since: Date): string {
  const seconds = Math.round((Date.now() - since.getTime()) / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const usage = error instanceof UsageProblem;
  console.error(usage ? error.message : error);
  process.exitCode = usage ? 2 : 1;
}
