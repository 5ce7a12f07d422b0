// pure
import { GRACE_SECONDS } from "./pods.ts";
import type { BenchResult, Round, Steady, SubjectResult } from "./result.ts";
import { median, quantile, spread } from "./statistics.ts";
import { renderTable, short } from "./table.ts";
import { bestFloor, judgeAll, TARGETS } from "./targets.ts";

/** A line of the report: a figure of the agent and, where there is one, of the bare runtime. */
interface Line {
  readonly name: string;
  readonly agent: (round: Round) => number | undefined;
  readonly floor?: (round: Round) => number | undefined;
}

/** Everything for the screen: where, the figures, the targets. */
export function renderReport(result: BenchResult): string {
  return [headOf(result, "the floor"), figures(result), floorNote(result), targets(result)].join(
    "\n\n",
  );
}

/** A round in which the agent was watched without pods first. */
interface Watched {
  readonly steady: readonly Steady[];
}

/** Where and how it was measured, and how busy the machine was. */
export function headOf(
  { machine, startedAt, options, subjects }: BenchResult<Watched>,
  ratio: string,
): string {
  const { cpus, cpuModel, memoryGib, kernel, runtime, node, loadBefore, loadAfter } = machine;
  return [
    `${startedAt.slice(0, 16).replace("T", " ")} UTC, ${cpus} × ${cpuModel}, ${memoryGib} GiB, Linux ${kernel}, ${runtime}, node ${node}`,
    ...subjects.map(({ label, version }) => `${label}: ${version}`),
    `${options.rounds} round(s), medians over the rounds (smallest – largest), × is the ratio to ${ratio} of the same round`,
    `load ${short(loadBefore)} before, ${short(loadAfter)} after; ${busyNote(subjects, cpus)}`,
  ].join("\n");
}

/** Share of the machine that others may take before the figures are to be read with care. */
const QUIET_SHARE = 0.15;

/** How much others did while the bench only waited: in the windows without pods. */
function busyNote(subjects: readonly SubjectResult<Watched>[], cpus: number): string {
  const windows = subjects.flatMap(({ rounds }) => rounds.flatMap(({ steady }) => steady[0] ?? []));
  const over = spread(windows.map(({ elsewhereCores }) => elsewhereCores));
  if (over === undefined) return "";
  const used = `others used ${short(over.min)} – ${short(over.max)} cores while no pods ran`;
  return over.max > QUIET_SHARE * cpus ? `${used}: A BUSY MACHINE, read ratios only` : used;
}

function figures({ subjects, options }: BenchResult): string {
  const all = subjects.flatMap(({ rounds }) => rounds);
  const header = ["", "floor", ...subjects.flatMap(({ label }) => [label, "×"])];
  const rows = sections(options).flatMap(({ title, lines }) => [
    [title],
    ...lines.map((line) => [
      `  ${line.name}`,
      line.floor ? cell(all, line.floor) : "",
      ...subjects.flatMap(({ rounds }) => [cell(rounds, line.agent), ratio(rounds, line)]),
    ]),
  ]);
  return renderTable([header, ...rows]);
}

function sections(options: BenchResult["options"]): { title: string; lines: readonly Line[] }[] {
  return [
    { title: "one pod at a time, ms", lines: SINGLE },
    { title: `${options.pods} pods at once, ms`, lines: TOGETHER },
    { title: "CPU time of the agent for each of them, ms", lines: CPU_PER_POD },
    { title: "at rest", lines: restLines(options) },
  ];
}

const SINGLE: readonly Line[] = [
  {
    name: "create → running",
    agent: ({ single }) => median(single.pods.map(({ runningMs }) => runningMs)),
    floor: ({ floor }) => median(floor.single.runningMs),
  },
  {
    name: "create → ready",
    agent: ({ single }) => median(single.pods.map(({ readyMs }) => readyMs)),
  },
  {
    name: `remove → stopped (${GRACE_SECONDS} s of it grace)`,
    agent: ({ single }) => median(single.stoppedMs),
    floor: ({ floor }) => median(floor.single.stoppedMs),
  },
];

const TOGETHER: readonly Line[] = [
  ...(["p50", "p99", "last"] as const).map((name): Line => {
    const share = { p50: 0.5, p99: 0.99, last: 1 }[name];
    return {
      name: `create → running, ${name}`,
      agent: ({ together }) =>
        quantile(
          together.pods.map(({ runningMs }) => runningMs),
          share,
        ),
      floor: (round) => quantile(bestFloor(round)?.runningMs ?? [], share),
    };
  }),
  ...(["p50", "p99", "last"] as const).map((name): Line => {
    const share = { p50: 0.5, p99: 0.99, last: 1 }[name];
    return {
      name: `create → ready, ${name}`,
      agent: ({ together }) =>
        quantile(
          together.pods.map(({ readyMs }) => readyMs),
          share,
        ),
    };
  }),
  ...(["p50", "last"] as const).map((name): Line => {
    const share = { p50: 0.5, last: 1 }[name];
    return {
      name: `remove → stopped, ${name}`,
      agent: ({ together }) => quantile(together.stoppedMs, share),
      floor: (round) => quantile(bestFloor(round)?.stoppedMs ?? [], share),
    };
  }),
];

const CPU_PER_POD: readonly Line[] = [
  { name: "start", agent: ({ together }) => together.startCpuMs / together.pods.length },
  { name: "stop", agent: ({ together }) => together.stopCpuMs / together.pods.length },
];

function restLines({ pods, probes }: BenchResult["options"]): readonly Line[] {
  const counts = [...new Set([0, Math.min(10, pods), pods])];
  const lines = counts.flatMap((count) =>
    steadyLines(`${count} pods`, ({ steady }) => steady.findLast((each) => each.pods === count)),
  );
  if (probes) lines.push(...steadyLines(`${pods} pods, probes`, ({ probing }) => probing));
  return [...lines, { name: "start of the agent → API answers, ms", agent: (r) => r.startUpMs }];
}

function steadyLines(name: string, of: (round: Round) => Steady | undefined): Line[] {
  return [
    { name: `${name}: CPU, thousandths of a core`, agent: (round) => of(round)?.cpuMilli },
    { name: `${name}: wakings of its threads in a second`, agent: (round) => of(round)?.wakings },
    { name: `${name}: resident memory, MiB`, agent: (round) => of(round)?.rssMib },
    { name: `${name}: anonymous memory, MiB`, agent: (round) => of(round)?.anonymousMib },
  ];
}

/** A figure over the rounds: its median, with the smallest and largest where they differ. */
export function cell<R>(rounds: readonly R[], figure: (round: R) => number | undefined): string {
  const over = spread(rounds.flatMap((round) => figure(round) ?? []));
  if (over === undefined) return "–";
  const [least, most] = [short(over.min), short(over.max)];
  return least === most ? least : `${short(over.median)} (${least} – ${most})`;
}

/** Compared within each round, because a shared machine is not the same an hour later. */
function ratio(rounds: readonly Round[], { agent, floor }: Line): string {
  if (floor === undefined) return "";
  const ratios = rounds.flatMap((round) => {
    const [mine, least] = [agent(round), floor(round)];
    return mine === undefined || least === undefined ? [] : [mine / least];
  });
  return ratios.length === 0 ? "" : `×${short(median(ratios))}`;
}

function floorNote({ subjects }: BenchResult): string {
  const all = subjects.flatMap(({ rounds }) => rounds);
  const ways = [...new Set(all.flatMap(({ floor }) => floor.together.map((way) => way.parallel)))];
  const lines = ways.map((parallel) => {
    const of = (share: number) => (round: Round) => {
      const way = round.floor.together.find((each) => each.parallel === parallel);
      return way && quantile(way.runningMs, share);
    };
    return `  ${parallel} in parallel: median pod runs after ${cell(all, of(0.5))} ms, the last after ${cell(all, of(1))} ms`;
  });
  return ["floor of many pods (the table has the one whose last pod runs first)", ...lines].join(
    "\n",
  );
}

function targets({ subjects }: BenchResult): string {
  const judged = subjects.map((subject) => judgeAll(subject));
  const rows = TARGETS.map((target, i) => [
    target.name,
    `≤ ${target.limit} ${target.unit}`,
    ...judged.map((all) => verdict(all[i])),
  ]);
  return renderTable([["target", "limit", ...subjects.map(({ label }) => label)], ...rows]);
}

function verdict(judgement: ReturnType<typeof judgeAll>[number] | undefined): string {
  if (judgement?.measured === undefined) return "too few to judge";
  const { measured, met } = judgement;
  return `${short(measured.median)} ${met ? "met" : "NOT MET"}`;
}

/** Kubelets of which a promise was broken, for an exit code. */
export function missedTargets(subjects: readonly SubjectResult[]): readonly string[] {
  return subjects
    .filter(({ isNodelet }) => isNodelet)
    .flatMap((subject) =>
      judgeAll(subject)
        .filter(({ met }) => met === false)
        .map(({ target }) => `${subject.label}: ${target.name}`),
    );
}
