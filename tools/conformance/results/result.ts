// pure
/** Results of a run: ginkgo's own report, and the compact form that is kept in the repository. */

/** What is read of ginkgo's JSON report of a suite. */
export interface SuiteReport {
  readonly StartTime: string;
  readonly RunTime: number;
  readonly SpecReports: readonly SpecReport[];
}

/** Where something stands in the suite's sources; lines count from 1. */
export interface CodeLocation {
  readonly FileName: string;
  readonly LineNumber: number;
}

/** One spec, or another node of the suite's tree. */
export interface SpecReport {
  readonly LeafNodeType: string;
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly ContainerHierarchyLocations: readonly CodeLocation[] | null;
  readonly LeafNodeText: string;
  readonly LeafNodeLocation: CodeLocation;
  readonly State: string;
  /** 0 for a spec that was not selected. */
  readonly NumAttempts: number;
  readonly StartTime: string;
  readonly EndTime: string;
  readonly RunTime: number;
  readonly CapturedGinkgoWriterOutput?: string;
  readonly Failure?: { readonly Message: string };
}

/** How a spec ended. */
export interface SpecOutcome {
  readonly name: string;
  /** Like `test/e2e/common/node/pods.go`. */
  readonly file: string;
  readonly outcome: "passed" | "failed" | "left out";
  /** Why it failed or left itself out. */
  readonly message: string;
  readonly began: string;
  readonly ended: string;
  readonly seconds: number;
  readonly output: string;
}

/** What a result says of where it comes from. */
export interface RunFacts {
  readonly group: string;
  /** `nodelet`, `go` or the name of another kubelet. */
  readonly kubelet: string;
  /** What the kubelet says of itself. */
  readonly version: string;
  readonly suite: string;
  readonly runtime: string;
  readonly kernel: string;
  readonly cgroup: string;
  readonly machine: string;
  readonly date: string;
  readonly minutes: number;
  readonly procs: number;
  /** All specs of the group ran, not a part that the command line chose. */
  readonly whole: boolean;
}

/** A result as it is kept. */
export interface KeptResult extends RunFacts {
  readonly passed: readonly string[];
  /** Message by name. */
  readonly failed: Readonly<Record<string, string>>;
  readonly leftOut: Readonly<Record<string, string>>;
  /** Specs that were run again in a later run, which counts. */
  readonly again: readonly string[];
  /** Number of runs of the whole group; 1 if absent. */
  readonly runs?: number;
  /** Number of runs in which a spec failed, by its name; specs that never failed are left out. */
  readonly failures?: Readonly<Record<string, number>>;
}

/** Name of the result's file and folder: with a suffix unless the node had cgroup v1, which the machine usually has. */
export function resultName({
  group,
  kubelet,
  cgroup,
}: Pick<RunFacts, "group" | "kubelet" | "cgroup">): string {
  return cgroup === "v1" ? `${group}-${kubelet}` : `${group}-${kubelet}-${cgroup}`;
}

const NANOSECONDS = 1e9;
const MESSAGE_CHARACTERS = 240;
/** A whole pod says less than what follows it. */
const POD_DUMP = /Pod: \{[\s\S]*?\n\}\n/g;

/** The specs that ran to their end; those that were interrupted show nothing. */
export function outcomesOf(report: SuiteReport): SpecOutcome[] {
  return report.SpecReports.filter(
    ({ LeafNodeType, NumAttempts, State }) =>
      LeafNodeType === "It" && NumAttempts > 0 && State !== "interrupted",
  ).map((spec) => ({
    name: nameOfSpec(spec),
    file: pathInModule(spec.LeafNodeLocation.FileName),
    outcome: outcomeOf(spec.State),
    message: shortened(spec.Failure?.Message ?? ""),
    began: spec.StartTime,
    ended: spec.EndTime,
    seconds: Math.round(spec.RunTime / NANOSECONDS),
    output: spec.CapturedGinkgoWriterOutput ?? "",
  }));
}

/** What a focus is matched with. */
export function nameOfSpec(spec: SpecReport): string {
  return [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText].join(" ");
}

/** Like `test/e2e/common/node/pods.go`. */
export function pathInModule(file: string): string {
  return file.replace(/^.*?\/(?=test\/)/, "");
}

function outcomeOf(state: string): SpecOutcome["outcome"] {
  if (state === "passed") return "passed";
  return state === "skipped" || state === "pending" ? "left out" : "failed";
}

function shortened(message: string): string {
  const text = message.replace(POD_DUMP, "").replace(/\s+/g, " ").trim();
  return text.length <= MESSAGE_CHARACTERS ? text : `${text.slice(0, MESSAGE_CHARACTERS)} …`;
}

/** The form that is kept, sorted by name. */
export function keptResult(facts: RunFacts, outcomes: readonly SpecOutcome[]): KeptResult {
  const those = (wanted: SpecOutcome["outcome"]) =>
    outcomes
      .filter(({ outcome }) => outcome === wanted)
      .sort((one, other) => (one.name < other.name ? -1 : 1));
  const messages = (wanted: SpecOutcome["outcome"]) =>
    Object.fromEntries(those(wanted).map(({ name, message }) => [name, message]));
  return {
    ...facts,
    passed: those("passed").map(({ name }) => name),
    failed: messages("failed"),
    leftOut: messages("left out"),
    again: [],
  };
}

/** Names of all specs that ran. */
export function ranIn({ passed, failed, leftOut }: KeptResult): string[] {
  return [...passed, ...Object.keys(failed), ...Object.keys(leftOut)];
}

/** What is known of the group's specs from results that are kept, of whichever kubelet; those of `except` are left out. */
export function knownSpecs(
  kept: readonly KeptResult[],
  group: string,
  except: readonly KeptResult[],
): string[] {
  const done = new Set(except.flatMap(ranIn));
  const known = kept.filter((result) => result.group === group && result.whole).flatMap(ranIn);
  return [...new Set(known)].filter((name) => !done.has(name));
}

/** What is kept after a further run of a part of the group with the same kubelet: of a spec in both, the later counts. */
export function mergedResult(before: KeptResult, later: KeptResult): KeptResult {
  const replaced = new Set(ranIn(later));
  const both = ranIn(before).filter((name) => replaced.has(name));
  const others = (record: Readonly<Record<string, string>>) =>
    Object.entries(record).filter(([name]) => !replaced.has(name));
  const sorted = (entries: readonly (readonly [string, string])[]) =>
    Object.fromEntries(entries.toSorted(([one], [other]) => (one < other ? -1 : 1)));
  return {
    ...before,
    runtime: bothNamed(before.runtime, later.runtime, ", "),
    machine: bothNamed(before.machine, later.machine, " or "),
    date: later.date,
    minutes: before.minutes + later.minutes,
    passed: [...before.passed.filter((name) => !replaced.has(name)), ...later.passed].sort(),
    failed: sorted([...others(before.failed), ...Object.entries(later.failed)]),
    leftOut: sorted([...others(before.leftOut), ...Object.entries(later.leftOut)]),
    again: [...new Set([...before.again, ...both])].sort(),
  };
}

/** What either of them names, each once; `between` stands between names. */
function bothNamed(before: string, later: string, between: string): string {
  return [...new Set([before, later].flatMap((text) => text.split(between)))].join(between);
}

/** What is kept after the whole group ran once more: the later outcome of each spec, and how often it has failed in all. */
export function countedResult(before: KeptResult, later: KeptResult): KeptResult {
  const failures = { ...failuresOf(before) };
  for (const name of Object.keys(later.failed)) failures[name] = (failures[name] ?? 0) + 1;
  const entries = Object.entries(failures).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return { ...later, runs: (before.runs ?? 1) + 1, failures: Object.fromEntries(entries) };
}

function failuresOf({ failures, failed }: KeptResult): Readonly<Record<string, number>> {
  return failures ?? Object.fromEntries(Object.keys(failed).map((name) => [name, 1]));
}
