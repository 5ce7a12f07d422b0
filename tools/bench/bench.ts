/**
 * Measures kubelets on this machine, against each other and against the bare runtime; see
 * docs/benchmark.md. Needs root and what a node in a box needs.
 */
import { writeFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";
import { boxObstacle } from "../../test/box/prerequisites.ts";
import { programOf } from "./kubelet.ts";
import { type BenchOptions, parseBenchOptions, USAGE, UsageProblem } from "./options.ts";
import { missedTargets, renderReport } from "./report.ts";
import type { BenchResult, Machine, SubjectResult } from "./result.ts";
import { measureRound, type RoundResult } from "./round.ts";

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
  const result = await measure(options, leave.signal);
  console.log(renderReport(result));
  if (options.json !== undefined)
    writeFileSync(options.json, `${JSON.stringify(result, undefined, 1)}\n`);
  return options.strict && missedTargets(result.subjects).length > 0 ? 1 : 0;
}

async function measure(options: BenchOptions, signal: AbortSignal): Promise<BenchResult> {
  const startedAt = new Date();
  const loadBefore = loadavg()[0] ?? 0;
  const say = (text: string) => process.stderr.write(`bench ${elapsed(startedAt)}: ${text}\n`);
  const programs: { label: string; path: string }[] = [];
  for (const subject of options.subjects)
    programs.push({ label: subject.label, path: await programOf(subject, say) });
  const results: RoundResult[] = [];
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
      results.push(await measureRound(order));
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

function subjectResult(label: string, results: readonly RoundResult[]): SubjectResult {
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
