/**
 * Kubernetes' own suites on a node of this checkout, or on another kubelet in the same place:
 *   npm run conformance -- --help
 * What is built and made on the way is kept outside the checkout; the node is in a box and gone afterwards.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { basename, join, relative } from "node:path";
import { inspect } from "node:util";
import { boxObstacle, cgroupRoots, findProgram } from "../../test/box/prerequisites.ts";
import { CACHE_DIR } from "../debian-suite.mjs";
import { pinnedVersion } from "../go/build-programs.mjs";
import { Unavailable } from "../go/go-command.mjs";
import { machineObstacle } from "../guest/uml/machine.mjs";
import { type GuestMachine, runInGuest } from "../guest/uml/run-in-guest.ts";
import { GROUPS, guestSwapOf, seedOf, setUpOf } from "./groups.ts";
import { runInParts } from "./guest-parts.ts";
import { failedInLastRun, partsFolder, RESULT } from "./last-run.ts";
import {
  type ConformanceOptions,
  focusOn,
  guestArguments,
  type KubeletChoice,
  type OciRuntime,
  parseConformanceOptions,
  USAGE,
  UsageProblem,
} from "./options.ts";
import { prepareParts, resultsFolder } from "./parts.ts";
import { writeFailureLogs } from "./results/failure-logs.ts";
import { completeResult, keepResult, keptResults, writePage } from "./results/kept.ts";
import {
  type KeptResult,
  keptResult,
  knownSpecs,
  mergedResult,
  type RunFacts,
  ranIn,
  resultName,
  type SpecOutcome,
} from "./results/result.ts";
import { LOG, runSuite } from "./run-suite.ts";

const GIB = 1024 ** 3;
/** Version of the cgroups in a guest; the names of its results end with it. */
const GUEST_CGROUP = "v2";

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
  if (options.rest && isComplete(options)) {
    say(`--rest: every spec of ${options.group} has a result in docs/conformance/`);
    return 0;
  }
  const interrupted = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const)
    process.on(name, () => interrupted.abort(new UsageProblem("interrupted")));
  return options.guest
    ? await runGroupInGuest(options, argv, interrupted.signal)
    : await runGroup(options, interrupted.signal);
}

/** Builds here what the guest then finds: it has no compilers and no way to a registry. */
async function runGroupInGuest(
  options: ConformanceOptions,
  argv: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  const { kubelet, group, completes, again } = options;
  const obstacle = machineObstacle();
  if (obstacle !== undefined)
    throw new UsageProblem(`--guest: no guest can be started: ${obstacle}`);
  // A guest has the checkout and the cache, no other folder that it could leave results in.
  if (options.results && relative(CACHE_DIR, options.results).startsWith(".."))
    throw new UsageProblem(`--results ${options.results}: with --guest, name one in ${CACHE_DIR}`);
  await prepareParts(kubelet, say, setUpOf(group).suite);
  const names = completes && !again ? specsForGuests(options) : [];
  if (names.length > 0) return await runPartsInGuests(options, names, signal);
  const { words, folders } = guestArguments(
    argv,
    options.failed ? listOfFailed(options) : undefined,
  );
  const onLine = (line: string) => console.error(line);
  return await runInGuest(["tools/conformance/conformance.ts", ...words], {
    ...guestMachineOf(options),
    folders,
    onLine,
    say,
    signal,
  });
}

/** A list for `--list` instead of `--failed`: the guest does not have the suite's sources. */
function listOfFailed(options: ConformanceOptions): string {
  const folder = folderOf(options, GUEST_CGROUP);
  const list = `${folder}-failed`;
  writeFileSync(list, `${failedInLastRun(folder, options.group).join("\n")}\n`);
  return list;
}

/** Where the run leaves its reports and logs. */
function folderOf({ group, kubelet, results }: ConformanceOptions, cgroup: string): string {
  return results ?? resultsFolder(resultName({ group, kubelet: nameOf(kubelet), cgroup }));
}

/** What containers write is on the guest's disk: in memory it counts as their memory, and causes no I/O. */
function guestMachineOf({ group, cpus }: ConformanceOptions): GuestMachine {
  return { cpus, swapMib: guestSwapOf(group), tmpOnDisk: true };
}

/** Whether no spec that is known of the group is without a result of this kubelet. */
function isComplete({ group, kubelet, guest }: ConformanceOptions): boolean {
  const kept = keptResults();
  const cgroup = guest ? GUEST_CGROUP : cgroupHere();
  const own = keptOf(kept, { group, kubelet: nameOf(kubelet), cgroup });
  return knownSpecs(kept, group, []).length > 0 && knownSpecs(kept, group, own).length === 0;
}

/** Those of the group, or with --rest those of them without result; none while the group never ran whole. */
function specsForGuests({ group, kubelet, rest }: ConformanceOptions): string[] {
  const kept = keptResults();
  const own = keptOf(kept, { group, kubelet: nameOf(kubelet), cgroup: GUEST_CGROUP });
  return knownSpecs(kept, group, rest ? own : []);
}

async function runPartsInGuests(
  options: ConformanceOptions,
  names: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  const { group, kubelet, procs, keep } = options;
  const name = nameOf(kubelet);
  const whole = folderOf(options, GUEST_CGROUP);
  const folder = partsFolder(whole);
  let total: KeptResult | undefined;
  const onResult = (result: KeptResult) => {
    total = total ? mergedResult(total, result) : result;
    mkdirSync(whole, { recursive: true });
    writeFileSync(join(whole, RESULT), JSON.stringify(total, null, 1));
    if (!keep) return;
    keepResult(result, { completes: false, again: false });
    writePage();
  };
  const word = kubelet.kind === "path" ? kubelet.path : kubelet.kind;
  const runtime = `--oci-runtime=${options.ociRuntime}`;
  const words = [group, `--kubelet=${word}`, `--procs=${procs}`, runtime];
  const machine = guestMachineOf(options);
  const without = await runInParts({ names, words, folder, machine, onResult, say, signal });
  if (without > 0)
    throw new Error(`${without} parts have no result; see ${folder}. Run them with --rest`);
  if (keep) say(`${completeResult({ group, kubelet: name, cgroup: GUEST_CGROUP })} is complete`);
  return Object.keys(total?.failed ?? {}).length > 0 ? 1 : 0;
}

async function runGroup(options: ConformanceOptions, signal: AbortSignal): Promise<number> {
  const { group, kubelet, procs } = options;
  const name = nameOf(kubelet);
  const folder = folderOf(options, cgroupHere());
  const other = options.results && otherFileIn(options.results);
  if (other) throw new UsageProblem(`--results ${folder} has ${other}: name another folder`);
  const selection = selectionOf(options, folder);
  const setUp = setUpOf(group);
  const runtime = ociRuntimeOf(options.ociRuntime);
  const parts = { ...(await prepareParts(kubelet, say, setUp.suite)), runc: runtime.runc };
  const began = new Date();
  say(`${GROUPS[group].title}, on ${name}`);
  // What one order hides another may show.
  const seed = options.again ? undefined : seedOf(group);
  const run = { parts, selection, procs, seed, folder, signal, say, ...setUp };
  const outcomes = await runSuite(run);
  const minutes = Math.round((Date.now() - began.getTime()) / 60_000);
  const version = versionOf(kubelet, parts.kubelet);
  const facts = factsOf(options, { version, ociRuntime: runtime.version, minutes, began });
  const result = keptResult(facts, outcomes);
  writeFileSync(join(folder, RESULT), JSON.stringify(result, null, 1));
  writeFailureLogs(folder, outcomes, join(folder, "failures"));
  report(outcomes, folder);
  if (options.keep) say(`kept as ${keepResult(result, options)}, wrote ${writePage()}`);
  return outcomes.some(({ outcome }) => outcome === "failed") ? 1 : 0;
}

/** A file in the folder, which is emptied before a run, where it holds no earlier reports. */
function otherFileIn(folder: string): string | undefined {
  const files = existsSync(folder) ? readdirSync(folder) : [];
  return files.includes(LOG) ? undefined : files[0];
}

/** A whole group may be run in several parts: what was kept is not run again with --rest. */
function selectionOf(
  { group, kubelet, selection, failed, rest }: ConformanceOptions,
  folder: string,
) {
  if (failed) return { focus: focusOn(failedInLastRun(folder, group)), skip: [] };
  if (!rest) return selection;
  const kept = keptOf(keptResults(), { group, kubelet: nameOf(kubelet), cgroup: cgroupHere() });
  return { ...selection, skip: [...selection.skip, ...focusOn(kept.flatMap(ranIn))] };
}

function keptOf(
  results: readonly KeptResult[],
  { group, kubelet, cgroup }: Pick<RunFacts, "group" | "kubelet" | "cgroup">,
): KeptResult[] {
  return results.filter(
    (each) => each.group === group && each.kubelet === kubelet && each.cgroup === cgroup,
  );
}

const cgroupHere = () => `v${cgroupRoots().version}`;

function nameOf(kubelet: KubeletChoice): string {
  return kubelet.kind === "path" ? basename(kubelet.path) : kubelet.kind;
}

function versionOf(kubelet: KubeletChoice, path: string): string {
  const words = kubelet.kind === "nodelet" ? ["run", "--version"] : ["--version"];
  return execFileSync(path, words, { encoding: "utf8" })
    .trim()
    .replace(/^Kubernetes /, "");
}

/** What starts containers in the lab, and its name with its version. */
function ociRuntimeOf(name: OciRuntime): {
  readonly runc: "1.5" | "crun";
  readonly version: string;
} {
  if (name === "runc") return { runc: "1.5", version: `runc ${pinnedVersion("runc")}` };
  const crun = findProgram("crun");
  if (crun === undefined)
    throw new UsageProblem("--oci-runtime crun: there is no crun on the PATH (apt install crun)");
  const text = execFileSync(crun, ["--version"], { encoding: "utf8" });
  return { runc: "crun", version: `crun ${/crun version (\S+)/.exec(text)?.[1] ?? "?"}` };
}

function factsOf(
  { group, kubelet, procs, whole }: ConformanceOptions,
  {
    version,
    ociRuntime,
    minutes,
    began,
  }: { version: string; ociRuntime: string; minutes: number; began: Date },
): RunFacts {
  return {
    group,
    kubelet: nameOf(kubelet),
    version,
    suite: `Kubernetes ${pinnedVersion("e2e_node.test")}`,
    runtime: `containerd ${pinnedVersion("containerd")}, ${ociRuntime}`,
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
