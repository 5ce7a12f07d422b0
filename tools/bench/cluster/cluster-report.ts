// pure
import { cell, headOf } from "../report.ts";
import type { BenchResult, Steady, SubjectResult } from "../result.ts";
import { median } from "../statistics.ts";
import { renderTable, short } from "../table.ts";
import type { ClusterRound, PodGroup, RequestCounts } from "./cluster-result.ts";
import {
  baselineOf,
  CLUSTER_TARGETS,
  goneOf,
  judgeCluster,
  ratiosTo,
  readyOf,
  requestsEach,
  singleFigure,
  startCpuOf,
  stopCpuOf,
} from "./cluster-targets.ts";
import { addRequests, requestsOfPods } from "./requests.ts";

type Subject = SubjectResult<ClusterRound>;

/** A line of the report: a figure of each round. */
interface Line {
  readonly name: string;
  readonly figure: (round: ClusterRound) => number | undefined;
}

/** Everything for the screen: where, the figures, the requests, the targets. */
export function renderClusterReport(result: BenchResult<ClusterRound>): string {
  const baseline = baselineOf(result.subjects);
  return [
    headOf(result, baseline?.label ?? "nothing"),
    figures(result, baseline),
    requests(result.subjects),
    ...(baseline && !baseline.isNodelet ? [targets(result.subjects, baseline)] : []),
  ].join("\n\n");
}

function figures(
  { subjects, options }: BenchResult<ClusterRound>,
  baseline: Subject | undefined,
): string {
  const columns = subjects.flatMap(({ label }) => [label, ...(baseline ? ["×"] : [])]);
  const rows = sections(options.pods).flatMap(({ title, lines }) => [
    [title],
    ...lines.map(({ name, figure }) => [
      `  ${name}`,
      ...subjects.flatMap((subject) => [
        cell(subject.rounds, figure),
        ...(baseline ? [ratio(baseline, subject, figure)] : []),
      ]),
    ]),
  ]);
  return renderTable([["", ...columns], ...rows]);
}

function ratio(baseline: Subject, subject: Subject, figure: Line["figure"]): string {
  if (subject === baseline) return "";
  const ratios = ratiosTo(baseline, subject, figure);
  return ratios.length === 0 ? "" : `×${short(median(ratios))}`;
}

function sections(pods: number): readonly { title: string; lines: readonly Line[] }[] {
  return [
    { title: "one pod at a time", lines: SINGLE },
    ...(["probed", "plain"] as const).map((group) => ({
      title: `${pods} pods at once, ${group === "probed" ? "two TCP probes a second each" : "no probes"}`,
      lines: groupLines((round) => round[group]),
    })),
    {
      title: `${pods} pods at once, probes, for the second time`,
      lines: lifeLines((round) => round.again),
    },
    {
      title: "no pods",
      lines: [
        ...steadyLines(({ steady: [idle] }) => idle),
        { name: "start of the agent → node Ready, ms", figure: (round) => round.startUpMs },
      ],
    },
  ];
}

const SINGLE: readonly Line[] = [
  { name: "bare runtime, create → running, ms", figure: ({ floorMs }) => median(floorMs) },
  { name: "first pod, create → Ready, ms", figure: ({ first }) => readyOf(first, 0.5) },
  { name: "create → Ready, ms", figure: singleFigure((group) => readyOf(group, 0.5)) },
  { name: "delete → gone, ms", figure: singleFigure((group) => goneOf(group, 0.5)) },
  { name: "CPU until Ready, ms", figure: singleFigure(startCpuOf) },
  { name: "CPU until gone, ms", figure: singleFigure(stopCpuOf) },
  { name: "requests to the API", figure: singleFigure(requestsEach) },
];

function groupLines(of: (round: ClusterRound) => PodGroup): readonly Line[] {
  return [...lifeLines(of), ...steadyLines((round) => of(round).steady)];
}

function lifeLines(of: (round: ClusterRound) => PodGroup): readonly Line[] {
  return [
    { name: "create → Ready, p50, ms", figure: (round) => readyOf(of(round), 0.5) },
    { name: "create → Ready, last, ms", figure: (round) => readyOf(of(round), 1) },
    { name: "delete → gone, p50, ms", figure: (round) => goneOf(of(round), 0.5) },
    { name: "delete → gone, last, ms", figure: (round) => goneOf(of(round), 1) },
    { name: "CPU until Ready, for each, ms", figure: (round) => startCpuOf(of(round)) },
    { name: "CPU until gone, for each, ms", figure: (round) => stopCpuOf(of(round)) },
    { name: "requests to the API, for each", figure: (round) => requestsEach(of(round)) },
  ];
}

function steadyLines(of: (round: ClusterRound) => Steady | undefined): readonly Line[] {
  return [
    { name: "at rest: CPU, thousandths of a core", figure: (round) => of(round)?.cpuMilli },
    { name: "at rest: wakings of its threads in a second", figure: (round) => of(round)?.wakings },
    { name: "at rest: resident memory, MiB", figure: (round) => of(round)?.rssMib },
    { name: "at rest: anonymous memory, MiB", figure: (round) => of(round)?.anonymousMib },
  ];
}

/** What is asked of the API for a pod's life, by verb and resource, and in a minute without pods. */
function requests(subjects: readonly Subject[]): string {
  const columns = subjects.map(({ rounds }) => ({
    singles: each(
      rounds.flatMap((round) => round.singles.map((group) => requestsOfPods(group.requests))),
      1,
    ),
    probed: each(
      rounds.map(({ probed }) => requestsOfPods(probed.requests)),
      rounds[0]?.probed.readyMs.length ?? 1,
    ),
    idle: each(
      rounds.map(({ idleRequests }) => idleRequests),
      (rounds[0]?.steady[0].seconds ?? 60) / 60,
    ),
  }));
  const part = (title: string, name: "singles" | "probed" | "idle") => [
    [title],
    ...[...new Set(columns.flatMap((column) => Object.keys(column[name])))]
      .sort()
      .map((key) => [`  ${key}`, ...columns.map((column) => short(column[name][key] ?? 0))]),
  ];
  return renderTable([
    ["requests to the API", ...subjects.map(({ label }) => label)],
    ...part("one pod's life", "singles"),
    ...part("a pod's life, many at once with probes", "probed"),
    ...part("a minute without pods", "idle"),
  ]);
}

/** Means over the counts, each of which stands for `units` of what is counted. */
function each(counts: readonly RequestCounts[], units: number): RequestCounts {
  const sum = addRequests(counts);
  const by = counts.length * units;
  return Object.fromEntries(Object.entries(sum).map(([key, count]) => [key, count / by]));
}

function targets(subjects: readonly Subject[], baseline: Subject): string {
  const own = subjects.filter(({ isNodelet }) => isNodelet);
  const judged = own.map((subject) => judgeCluster(baseline, subject));
  const rows = CLUSTER_TARGETS.map(({ name, limit }, i) => [
    name,
    `≤ ${limit} ×`,
    ...judged.map((all) => verdict(all[i])),
  ]);
  const head = [`target, to ${baseline.label}`, "limit", ...own.map(({ label }) => label)];
  return renderTable([head, ...rows]);
}

function verdict(judgement: ReturnType<typeof judgeCluster>[number] | undefined): string {
  if (judgement?.ratio === undefined) return "too few to judge";
  return `${short(judgement.ratio.median)} ${judgement.met ? "met" : "NOT MET"}`;
}
