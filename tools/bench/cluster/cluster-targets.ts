// pure
import type { BenchResult, SubjectResult } from "../result.ts";
import { median, quantile, type Spread, spread } from "../statistics.ts";
import type { ClusterRound, PodGroup } from "./cluster-result.ts";
import { requestsOfPods, totalOf } from "./requests.ts";

/** What nodelet promises about one figure beside that of the Go kubelet in the same round. */
export interface ClusterTarget {
  readonly name: string;
  /** Largest share of the baseline figure. */
  readonly limit: number;
  /** The figure of one round; undefined when the round was too small to say. */
  readonly figure: (round: ClusterRound) => number | undefined;
}

/** Fewer pods or seconds are for trying the bench, not for judging by it. */
const ENOUGH = { singles: 3, pods: 50 } as const;

export const startCpuOf = ({ startCpuMs, readyMs }: PodGroup) => startCpuMs / readyMs.length;
export const stopCpuOf = ({ stopCpuMs, goneMs }: PodGroup) => stopCpuMs / goneMs.length;
/** Requests for the whole life of one pod of the group. */
export const requestsEach = ({ requests, readyMs }: PodGroup) =>
  totalOf(requestsOfPods(requests)) / readyMs.length;

/** The median over single pods. */
export const singleFigure = (of: (group: PodGroup) => number) => (round: ClusterRound) =>
  median(round.singles.map(of));

export const readyOf = (group: PodGroup, share: number) => quantile(group.readyMs, share);
export const goneOf = (group: PodGroup, share: number) => quantile(group.goneMs, share);

const singles = (of: (group: PodGroup) => number) => (round: ClusterRound) =>
  round.singles.length < ENOUGH.singles ? undefined : singleFigure(of)(round);
const probed =
  (of: (group: PodGroup) => number | undefined) =>
  ({ probed: group }: ClusterRound) =>
    group.readyMs.length < ENOUGH.pods ? undefined : of(group);

export const CLUSTER_TARGETS: readonly ClusterTarget[] = [
  {
    name: "one pod, create → Ready",
    limit: 0.8,
    figure: singles((group) => readyOf(group, 0.5)),
  },
  { name: "one pod, CPU of the agent until Ready", limit: 0.7, figure: singles(startCpuOf) },
  {
    name: "pods at once with probes, p50",
    limit: 0.5,
    figure: probed((group) => readyOf(group, 0.5)),
  },
  {
    name: "pods at once with probes, last",
    limit: 0.9,
    figure: probed((group) => readyOf(group, 1)),
  },
  { name: "pods at once with probes, CPU for each", limit: 0.7, figure: probed(startCpuOf) },
  {
    name: "pods with probes at rest, CPU",
    limit: 0.7,
    figure: probed(({ steady }) => steady?.cpuMilli),
  },
  {
    name: "pods without probes at rest, CPU",
    limit: 0.1,
    figure: ({ plain: { steady, readyMs } }) =>
      readyMs.length < ENOUGH.pods ? undefined : steady?.cpuMilli,
  },
  { name: "no pods, resident memory", limit: 0.8, figure: ({ steady: [idle] }) => idle.rssMib },
  {
    name: "pods with probes, resident memory",
    limit: 0.8,
    figure: probed(({ steady }) => steady?.rssMib),
  },
  {
    name: "deletion of the pods, last gone",
    limit: 0.7,
    figure: probed((group) => goneOf(group, 1)),
  },
  { name: "requests for a pod's life", limit: 0.6, figure: singles(requestsEach) },
];

/** Whom the others are compared with: the first that is no nodelet, else the first; undefined when it is alone. */
export function baselineOf(
  subjects: readonly SubjectResult<ClusterRound>[],
): SubjectResult<ClusterRound> | undefined {
  if (subjects.length < 2) return undefined;
  return subjects.find(({ isNodelet }) => !isNodelet) ?? subjects[0];
}

/** Ratios to the baseline, round by round; empty without one. */
export function ratiosTo(
  baseline: SubjectResult<ClusterRound> | undefined,
  subject: SubjectResult<ClusterRound>,
  figure: (round: ClusterRound) => number | undefined,
): readonly number[] {
  return subject.rounds.flatMap((round, i) => {
    const other = baseline?.rounds[i];
    const [own, its] = [figure(round), other && figure(other)];
    return own === undefined || its === undefined || its === 0 ? [] : [own / its];
  });
}

/** A target and what became of it. */
export interface ClusterJudgement {
  readonly target: ClusterTarget;
  /** Ratios over the rounds; undefined when no round could say. */
  readonly ratio: Spread | undefined;
  readonly met: boolean | undefined;
}

export function judgeCluster(
  baseline: SubjectResult<ClusterRound> | undefined,
  subject: SubjectResult<ClusterRound>,
): readonly ClusterJudgement[] {
  return CLUSTER_TARGETS.map((target) => {
    const ratio = spread(ratiosTo(baseline, subject, target.figure));
    return { target, ratio, met: ratio && ratio.median <= target.limit };
  });
}

/** Promises that were broken, for an exit code. Two nodelets beside each other promise nothing. */
export function missedClusterTargets({ subjects }: BenchResult<ClusterRound>): readonly string[] {
  const baseline = baselineOf(subjects);
  if (baseline?.isNodelet) return [];
  return subjects
    .filter(({ isNodelet }) => isNodelet)
    .flatMap((subject) =>
      judgeCluster(baseline, subject)
        .filter(({ met }) => met === false)
        .map(({ target }) => `${subject.label}: ${target.name}`),
    );
}
