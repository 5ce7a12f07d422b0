// pure
import type { FloorTogether, Round, SubjectResult } from "./result.ts";
import { median, quantile, type Spread, spread } from "./statistics.ts";

/** What nodelet promises about one figure. */
export interface Target {
  readonly name: string;
  readonly limit: number;
  /** Printed after the figure. */
  readonly unit: "×" | "MiB" | "m";
  /** The figure of one round; undefined when the round was too small to say. */
  readonly figure: (round: Round) => number | undefined;
}

/** A target and what became of it. */
export interface Judgement {
  readonly target: Target;
  /** Over the rounds; undefined when no round could say. */
  readonly measured: Spread | undefined;
  /** Whether the median keeps the limit. */
  readonly met: boolean | undefined;
}

/** Fewer pods or seconds are for trying the bench, not for judging by it. */
const ENOUGH = { singles: 7, pods: 50, seconds: 29.5 } as const;

export const TARGETS: readonly Target[] = [
  {
    name: "one pod, create → running, to the floor",
    limit: 1.3,
    unit: "×",
    figure: ({ single, floor }) =>
      Math.min(single.pods.length, floor.single.runningMs.length) < ENOUGH.singles
        ? undefined
        : median(single.pods.map(({ runningMs }) => runningMs)) / median(floor.single.runningMs),
  },
  {
    name: "pods at once, last running, to the floor's best",
    limit: 1.4,
    unit: "×",
    figure: (round) => enoughPods(round, runningTogether(round, 1) / bestFloorLast(round)),
  },
  {
    name: "pods at once, median running, to the last",
    limit: 0.6,
    unit: "×",
    figure: (round) => enoughPods(round, runningTogether(round, 0.5) / runningTogether(round, 1)),
  },
  {
    name: "no pods, resident memory",
    limit: 90,
    unit: "MiB",
    figure: (round) => idle(round)?.rssMib,
  },
  {
    name: "no pods, anonymous memory",
    limit: 35,
    unit: "MiB",
    figure: (round) => idle(round)?.anonymousMib,
  },
  {
    name: "no pods, CPU",
    limit: 5,
    unit: "m",
    figure: (round) => idle(round)?.cpuMilli,
  },
];

/** All targets for one kubelet. */
export function judgeAll({ rounds }: Pick<SubjectResult, "rounds">): readonly Judgement[] {
  return TARGETS.map((target) => {
    const measured = spread(rounds.flatMap((round) => target.figure(round) ?? []));
    return { target, measured, met: measured && measured.median <= target.limit };
  });
}

/** The way of making many pods after which the last was running first. */
export function bestFloor({ floor }: Round): FloorTogether | undefined {
  const last = ({ runningMs }: FloorTogether) => Math.max(...runningMs);
  return floor.together.toSorted((a, b) => last(a) - last(b))[0];
}

function bestFloorLast(round: Round): number {
  return Math.max(...(bestFloor(round)?.runningMs ?? []));
}

function runningTogether({ together }: Round, share: number): number {
  return quantile(
    together.pods.map(({ runningMs }) => runningMs),
    share,
  );
}

function enoughPods({ together }: Round, figure: number): number | undefined {
  return together.pods.length < ENOUGH.pods ? undefined : figure;
}

function idle({ steady }: Round): Round["steady"][number] | undefined {
  return steady.find(({ pods, seconds }) => pods === 0 && seconds >= ENOUGH.seconds);
}
