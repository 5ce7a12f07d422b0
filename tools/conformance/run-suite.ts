/** One run of a suite in a lab. */
import { cpSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Selection, SuiteName } from "./groups.ts";
import { startCluster } from "./lab/cluster.ts";
import { startLab } from "./lab/lab.ts";
import type { LabParts, SuiteFlags, SuiteLab } from "./lab/suite-lab.ts";
import { NOTHING_YET, progressAfter, progressText } from "./results/progress.ts";
import { outcomesOf, type SpecOutcome, type SuiteReport } from "./results/result.ts";
import { servicesFault } from "./results/services.ts";

/** What to run, and where its reports go. */
export interface SuiteRun extends SuiteFlags {
  /** Default `node`. */
  readonly suite?: SuiteName;
  readonly parts: LabParts;
  readonly selection: Selection;
  readonly procs: number;
  /** Seed of ginkgo's random order of specs; ginkgo chooses one if absent. */
  readonly seed?: number | undefined;
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
  /** The others end when one spec has failed. */
  readonly toFirstFailure?: boolean;
}

const SAY_EVERY_MS = 30_000;
const LONGEST = "8h";
/** Ginkgo's own report. */
export const REPORT = "report.json";
/** What ginkgo prints. */
export const LOG = "ginkgo.log";
/** Log of the API server and etcd that the node suite runs itself. */
const SERVICES_LOG = "services.log";
type StartLab = (run: SuiteRun) => Promise<SuiteLab>;
const LABS: Readonly<Record<SuiteName, StartLab>> = {
  node: ({ parts, logind, diskMib }) => startLab(parts, { logind, diskMib }),
  cluster: ({ parts, signal }) => startCluster(parts, signal),
};

/** Runs the suite to its end; the folder then has ginkgo's reports and the logs of the node. */
export async function runSuite(run: SuiteRun): Promise<SpecOutcome[]> {
  const { folder, say, suite = "node" } = run;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  say(`starting the ${suite}`);
  await using lab = await LABS[suite](run);
  try {
    await runGinkgo(lab, run);
  } finally {
    keepLogs(lab, folder);
  }
  const fault = faultOfServices(folder);
  if (fault !== undefined) throw new Error(fault);
  const report = join(folder, REPORT);
  if (!existsSync(report)) throw new Error(`the suite left no report; see ${folder}/${LOG}`);
  const [only] = JSON.parse(readFileSync(report, "utf8")) as SuiteReport[];
  const outcomes = only === undefined ? [] : outcomesOf(only);
  if (outcomes.length === 0) throw new Error(`no spec has run; see ${folder}/${LOG}`);
  return outcomes;
}

async function runGinkgo(lab: SuiteLab, run: SuiteRun): Promise<void> {
  const { folder, parts, signal, say } = run;
  signal.throwIfAborted();
  const log = openSync(join(folder, LOG), "w");
  const running = lab.box.spawn(ginkgoCommand(lab, run), {
    cwd: lab.folder,
    env: {
      PATH: `/usr/local/sbin:/usr/local/bin:${dirname(parts.program("etcd"))}:/usr/sbin:/usr/bin:/sbin:/bin`,
      TMPDIR: "/tmp",
      NODELET_NODE: process.execPath,
    },
  });
  const end = () => running.killGroup();
  signal.addEventListener("abort", end, { once: true });
  let progress = NOTHING_YET;
  const began = performance.now();
  const alive = setInterval(() => {
    say(progressText(progress, (performance.now() - began) / 1000, new Date()));
    if (faultOfServices(folder) !== undefined) end();
  }, SAY_EVERY_MS);
  running.stderr?.on("data", (chunk: Buffer) => writeSync(log, chunk));
  if (running.stdout)
    createInterface({ input: running.stdout }).on("line", (line) => {
      writeSync(log, `${line}\n`);
      progress = progressAfter(progress, line);
    });
  await running.exited.finally(() => clearInterval(alive));
  signal.removeEventListener("abort", end);
  signal.throwIfAborted();
  say(progressText(progress, (performance.now() - began) / 1000, new Date()));
}

/** Without its API server every spec fails, whichever the kubelet: such a run has no result. */
function faultOfServices(folder: string): string | undefined {
  const log = join(folder, SERVICES_LOG);
  const fault = existsSync(log) ? servicesFault(readFileSync(log, "utf8")) : undefined;
  return fault && `the suite's API server or etcd ended during the run (${fault}); see ${log}`;
}

function ginkgoCommand(lab: SuiteLab, run: SuiteRun): string[] {
  const { selection, procs, seed, folder, toFirstFailure } = run;
  const { focus, skip, labels } = selection;
  return [
    join(lab.folder, "ginkgo"),
    "run",
    `--procs=${procs}`,
    "--no-color",
    "-v",
    ...(seed === undefined ? [] : [`--seed=${seed}`]),
    ...(toFirstFailure ? ["--fail-fast"] : []),
    `--timeout=${LONGEST}`,
    `--output-dir=${folder}`,
    `--json-report=${REPORT}`,
    "--junit-report=junit.xml",
    ...focus.map((each) => `--focus=${each}`),
    ...skip.map((each) => `--skip=${each}`),
    ...(labels === undefined ? [] : [`--label-filter=${labels}`]),
    join(lab.folder, lab.suite),
    "--",
    ...lab.suiteArguments(folder, run),
  ];
}

function keepLogs(lab: SuiteLab, folder: string): void {
  for (const [name, from] of lab.logs()) if (existsSync(from)) cpSync(from, join(folder, name));
}
