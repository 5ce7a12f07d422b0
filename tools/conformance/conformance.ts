/**
 * Kubernetes' own suites on a node of this checkout, or on another kubelet in the same place:
 *   npm run conformance -- --help
 * What is built and made on the way is kept outside the checkout; the node is in a box and gone afterwards.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { basename, join } from "node:path";
import { inspect } from "node:util";
import { boxObstacle, cgroupRoots } from "../../test/box/prerequisites.ts";
import { pinnedVersion } from "../go/build-programs.mjs";
import { Unavailable } from "../go/go-command.mjs";
import { machineObstacle } from "../guest/uml/machine.mjs";
import { runInGuest } from "../guest/uml/run-in-guest.ts";
import { GROUPS, seedOf, setUpOf } from "./groups.ts";
import {
  type ConformanceOptions,
  focusOn,
  guestArguments,
  type KubeletChoice,
  parseConformanceOptions,
  USAGE,
  UsageProblem,
} from "./options.ts";
import { prepareParts, resultsFolder } from "./parts.ts";
import { writeFailureLogs } from "./results/failure-logs.ts";
import { keepResult, keptResults, writePage } from "./results/kept.ts";
import {
  type KeptResult,
  keptResult,
  type RunFacts,
  ranIn,
  resultName,
  type SpecOutcome,
} from "./results/result.ts";
import { runSuite } from "./run-suite.ts";

const RESULT = "result.json";
const GIB = 1024 ** 3;
/** With two CPUs, memory that etcd maps from its file is not always what etcd has written there: bbolt panics. */
const GUEST_CPUS = 1;

const say = (text: string) => process.stderr.write(`conformance: ${text}\n`);

async function main(argv: readonly string[]): Promise<number> {
  if (argv.includes("--help")) {
    console.log(USAGE);
    return 0;
  }
  const options = parseConformanceOptions(argv);
  if (options.page) {
    say(`wrote ${writePage()}`);
    return 0;
  }
  const obstacle = boxObstacle();
  if (obstacle !== undefined) throw new UsageProblem(`no node can be made here: ${obstacle}`);
  const interrupted = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const)
    process.on(name, () => interrupted.abort(new UsageProblem("interrupted")));
  return options.guest
    ? await runGroupInGuest(options, argv, interrupted.signal)
    : await runGroup(options, interrupted.signal);
}

/** Builds here what the guest then finds: it has no compilers and no way to a registry. */
async function runGroupInGuest(
  { kubelet, group }: ConformanceOptions,
  argv: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  const obstacle = machineObstacle();
  if (obstacle !== undefined)
    throw new UsageProblem(`--guest: no guest can be started: ${obstacle}`);
  await prepareParts(kubelet, say, setUpOf(group).suite);
  const { words, folders } = guestArguments(argv);
  const onLine = (line: string) => console.error(line);
  return await runInGuest(["tools/conformance/conformance.ts", ...words], {
    folders,
    cpus: GUEST_CPUS,
    onLine,
    say,
    signal,
  });
}

async function runGroup(options: ConformanceOptions, signal: AbortSignal): Promise<number> {
  const { group, kubelet, procs } = options;
  const name = nameOf(kubelet);
  const cgroup = cgroupHere();
  const folder = resultsFolder(resultName({ group, kubelet: name, cgroup }));
  const selection = selectionOf(options, folder);
  const setUp = setUpOf(group);
  const parts = await prepareParts(kubelet, say, setUp.suite);
  const began = new Date();
  say(`${GROUPS[group].title}, on ${name}`);
  // What one order hides another may show.
  const seed = options.again ? undefined : seedOf(group);
  const run = { parts, selection, procs, seed, folder, signal, say, ...setUp };
  const outcomes = await runSuite(run);
  const minutes = Math.round((Date.now() - began.getTime()) / 60_000);
  const facts = factsOf(options, { version: versionOf(kubelet, parts.kubelet), minutes, began });
  const result = keptResult(facts, outcomes);
  writeFileSync(join(folder, RESULT), JSON.stringify(result, null, 1));
  writeFailureLogs(folder, outcomes, join(folder, "failures"));
  report(outcomes, folder);
  if (options.keep) say(`kept as ${keepResult(result, options)}, wrote ${writePage()}`);
  return outcomes.some(({ outcome }) => outcome === "failed") ? 1 : 0;
}

/** A whole group may be run in several parts: what was kept is not run again with --rest. */
function selectionOf(
  { group, kubelet, selection, failed, rest }: ConformanceOptions,
  folder: string,
) {
  if (failed) return { focus: focusOn(failedBefore(folder, group)), skip: [] };
  if (!rest) return selection;
  const kept = keptResults().filter(
    (result) =>
      result.group === group &&
      result.kubelet === nameOf(kubelet) &&
      result.cgroup === cgroupHere(),
  );
  return { ...selection, skip: [...selection.skip, ...focusOn(kept.flatMap(ranIn))] };
}

const cgroupHere = () => `v${cgroupRoots().version}`;

function nameOf(kubelet: KubeletChoice): string {
  return kubelet.kind === "path" ? basename(kubelet.path) : kubelet.kind;
}

function failedBefore(folder: string, group: string): string[] {
  const file = join(folder, RESULT);
  if (!existsSync(file)) throw new UsageProblem(`--failed: the group ${group} has not run yet`);
  const names = Object.keys((JSON.parse(readFileSync(file, "utf8")) as KeptResult).failed);
  if (names.length === 0) throw new UsageProblem(`--failed: nothing of ${group} failed`);
  return names;
}

function versionOf(kubelet: KubeletChoice, path: string): string {
  const words = kubelet.kind === "nodelet" ? ["run", "--version"] : ["--version"];
  return execFileSync(path, words, { encoding: "utf8" })
    .trim()
    .replace(/^Kubernetes /, "");
}

function factsOf(
  { group, kubelet, procs, whole }: ConformanceOptions,
  { version, minutes, began }: { version: string; minutes: number; began: Date },
): RunFacts {
  return {
    group,
    kubelet: nameOf(kubelet),
    version,
    suite: `Kubernetes ${pinnedVersion("e2e_node.test")}`,
    runtime: `containerd ${pinnedVersion("containerd")}, runc ${pinnedVersion("runc")}`,
    kernel: release(),
    cgroup: cgroupHere(),
    machine: `${cpus().length} CPUs, ${Math.round(totalmem() / GIB)} GiB, ${process.arch}`,
    date: began.toISOString().slice(0, 10),
    minutes,
    procs,
    whole,
  };
}

function report(outcomes: readonly SpecOutcome[], folder: string): void {
  const count = (wanted: SpecOutcome["outcome"]) =>
    outcomes.filter(({ outcome }) => outcome === wanted).length;
  for (const { name, message } of outcomes.filter(({ outcome }) => outcome === "failed"))
    console.log(`failed: ${name}\n        ${message}`);
  console.log(
    `${count("passed")} passed, ${count("failed")} failed, ${count("left out")} left themselves out; logs in ${folder}`,
  );
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const known = error instanceof UsageProblem || error instanceof Unavailable;
  console.error(`conformance: ${known ? (error as Error).message : inspect(error)}`);
  process.exitCode = 2;
}
