// pure
/**
 * Whether the node is under pressure, and what follows: from what was observed, the thresholds and the pods.
 * The agent acts by it every ten seconds, and `nodelet plan --evict` shows it.
 */

import type { EvictionSignal } from "../../api/node/eviction-signals.ts";
import { graceSecondsOf } from "../../api/pod/pod.ts";
import type { MonotonicMs, WallMs } from "../../kit/clock.ts";
import { type LocalExcess, localExcesses } from "./local-limits.ts";
import type { SignalObservation, SignalObservations } from "./observations.ts";
import { firstEvictable, type RankedPod, type Remedy, rankPods, remedyFor } from "./rank.ts";
import {
  type DiskLayout,
  PRESSURE_CONDITIONS,
  type PressureCondition,
  type ReclaimStep,
  reclaimStepsFor,
  SIGNAL_FACTS,
  type StarvedResource,
} from "./signals.ts";
import { type EvictionTexts, pressureTexts } from "./texts.ts";
import {
  isHard,
  requiredAmount,
  type Threshold,
  thresholdKey,
  thresholdsFor,
  thresholdsMet,
} from "./thresholds.ts";
import type { CandidatePod } from "./usage.ts";

/** Inputs of a plan beside the observations. */
export interface EvictionRules {
  readonly thresholds: readonly Threshold[];
  readonly layout: DiskLayout;
  /** How long a condition stays after it was last observed. */
  readonly transitionMs: number;
  /** Most seconds a pod gets to end for a soft threshold; negative: as many as the pod says. */
  readonly maxPodGraceSeconds: number;
  /** Whether limits of pods on local storage are enforced. */
  readonly localLimits: boolean;
}

/** State carried over from earlier plans. */
export interface EvictionState {
  /** Since when each threshold is met, by `thresholdKey`. */
  readonly firstMet: ReadonlyMap<string, MonotonicMs>;
  /** Met for longer than their grace period and not resolved since. */
  readonly acting: readonly Threshold[];
  /** When each condition was last observed. */
  readonly conditionSeen: ReadonlyMap<PressureCondition, MonotonicMs>;
  /** How old the observations were that were last acted on. */
  readonly observedAt: ReadonlyMap<EvictionSignal, WallMs>;
}

/** Of a node that nothing is known of yet. */
export const NOTHING_MET: EvictionState = {
  firstMet: new Map(),
  acting: [],
  conditionSeen: new Map(),
  observedAt: new Map(),
};

/** Everything a plan depends on. */
interface EvictionInputs {
  readonly rules: EvictionRules;
  readonly observations: SignalObservations;
  /** The pods of the node that have not ended. */
  readonly pods: readonly CandidatePod[];
  readonly state: EvictionState;
  readonly now: MonotonicMs;
}

/** One threshold beside what was observed. */
export interface ThresholdView {
  readonly threshold: Threshold;
  /** Missing when the signal could not be measured. */
  readonly observed: SignalObservation | undefined;
  /** Amount that must be available, in the unit of the signal. */
  readonly required: number;
  /** `unresolved`: no longer met, but less is left than with the minimum to reclaim. */
  readonly state: "unknown" | "unmet" | "met" | "unresolved";
  /** How much of the grace period is left, of thresholds that are met or unresolved. */
  readonly graceLeftMs: number;
}

/** The pod that goes, and how. */
export interface Victim {
  readonly ranked: RankedPod;
  readonly graceSeconds: number;
  readonly texts: EvictionTexts;
  readonly remedy: Remedy;
}

/** Actions against a shortage of one resource. */
export interface PressurePlan {
  readonly threshold: Threshold;
  readonly observed: SignalObservation;
  readonly resource: StarvedResource;
  /** Done first; a pod goes only if that was not enough. */
  readonly reclaim: readonly ReclaimStep[];
  /** All pods, the first to go first. */
  readonly ranking: readonly RankedPod[];
  /** Missing when no pod may go. */
  readonly victim: Victim | undefined;
}

/** Result of a plan. */
export interface EvictionPlan {
  readonly views: readonly ThresholdView[];
  readonly conditions: readonly PressureCondition[];
  /** Pods that exceed limits of their own; while there are any nothing else is done. */
  readonly excesses: readonly LocalExcess[];
  readonly pressure: PressurePlan | undefined;
  /** For the next plan. */
  readonly state: EvictionState;
}

/**
 * Plans one round, in the order of the Go kubelet (eviction_manager.go synchronize): thresholds met, conditions,
 * grace periods, limits of pods, and then the one resource that is taken back first.
 */
export function planEviction(inputs: EvictionInputs): EvictionPlan {
  const { rules, observations, pods, state, now } = inputs;
  const thresholds = thresholdsFor(rules.thresholds, rules.layout);
  const met = new Set(thresholdsMet(thresholds, observations).map(thresholdKey));
  const unresolved = new Set(thresholdsMet(state.acting, observations, true).map(thresholdKey));
  const open = thresholds.filter((threshold) => {
    const key = thresholdKey(threshold);
    return met.has(key) || unresolved.has(key);
  });
  const firstMet = new Map(
    open.map(thresholdKey).map((key) => [key, state.firstMet.get(key) ?? now] as const),
  );
  const graceLeft = (threshold: Threshold) =>
    Math.max(0, threshold.graceMs - (now - (firstMet.get(thresholdKey(threshold)) ?? now)));
  const conditionSeen = seenConditions(open, state, now);
  const acting = open.filter((threshold) => graceLeft(threshold) === 0);
  const excesses = rules.localLimits ? localExcesses(pods, rules.layout) : [];
  const driving = memoryFirst(acting.filter((each) => isNewer(each, observations, state)));
  return {
    views: thresholds.map((threshold) => {
      const key = thresholdKey(threshold);
      const observed = observations.get(threshold.signal);
      return {
        threshold,
        observed,
        required: observed ? requiredAmount(threshold, observed.capacity) : 0,
        state: stateOf(observed, met.has(key), unresolved.has(key)),
        graceLeftMs: firstMet.has(key) ? graceLeft(threshold) : threshold.graceMs,
      };
    }),
    conditions: PRESSURE_CONDITIONS.filter((condition) => {
      const seenAt = conditionSeen.get(condition);
      return seenAt !== undefined && now - seenAt < rules.transitionMs;
    }),
    excesses,
    pressure: excesses.length > 0 ? undefined : planPressure(driving, inputs),
    state: {
      firstMet,
      acting,
      conditionSeen,
      observedAt: new Map([...observations].map(([signal, { atMs }]) => [signal, atMs])),
    },
  };
}

/** Whether after reclaiming no threshold is met any more, with the minimum to reclaim on top. */
export function isRelieved(
  { thresholds, layout }: EvictionRules,
  observations: SignalObservations,
): boolean {
  return thresholdsMet(thresholdsFor(thresholds, layout), observations, true).length === 0;
}

function stateOf(
  observed: SignalObservation | undefined,
  isMet: boolean,
  isUnresolved: boolean,
): ThresholdView["state"] {
  if (!observed) return "unknown";
  if (isMet) return "met";
  return isUnresolved ? "unresolved" : "unmet";
}

function seenConditions(
  open: readonly Threshold[],
  { conditionSeen }: EvictionState,
  now: MonotonicMs,
): EvictionState["conditionSeen"] {
  const seen = new Map(conditionSeen);
  for (const { signal } of open) seen.set(SIGNAL_FACTS[signal].condition, now);
  return seen;
}

/** Nothing is done twice on the same figures; the clock may be set back between two of them. */
function isNewer(
  { signal }: Threshold,
  observations: SignalObservations,
  { observedAt }: EvictionState,
): boolean {
  const observed = observations.get(signal);
  const before = observedAt.get(signal);
  return observed !== undefined && observed.atMs !== before;
}

function memoryFirst(thresholds: readonly Threshold[]): readonly Threshold[] {
  const isMemory = ({ signal }: Threshold) => SIGNAL_FACTS[signal].resource === "memory";
  return [...thresholds.filter(isMemory), ...thresholds.filter((each) => !isMemory(each))];
}

function planPressure(
  driving: readonly Threshold[],
  { rules, observations, pods }: EvictionInputs,
): PressurePlan | undefined {
  const [threshold] = driving;
  const observed = threshold && observations.get(threshold.signal);
  if (!threshold || !observed) return undefined;
  const { signal } = threshold;
  const { resource } = SIGNAL_FACTS[signal];
  const ranking = rankPods(signal, pods, rules.layout);
  // The space that an evicted pod takes is about to be released: no other pod has to be evicted before.
  const evicted = ranking.find(({ candidate }) => candidate.ending === "evicted");
  const first = evicted ?? firstEvictable(ranking);
  return {
    threshold,
    observed,
    resource,
    reclaim: reclaimStepsFor(signal, rules.layout),
    ranking,
    victim: first && {
      ranked: first,
      graceSeconds: graceSeconds(threshold, first.candidate, rules),
      texts: pressureTexts(first.candidate, { resource, thresholds: driving, observations }),
      remedy: remedyFor(signal, ranking, first),
    },
  };
}

/** Grace period for a hard threshold (immediateEvictionGracePeriodSeconds). */
export const HARD_GRACE_SECONDS = 1;

function graceSeconds(
  threshold: Threshold,
  { pod }: CandidatePod,
  { maxPodGraceSeconds }: EvictionRules,
): number {
  if (isHard(threshold)) return HARD_GRACE_SECONDS;
  const own = graceSecondsOf(pod);
  const max = maxPodGraceSeconds < 0 ? own : Math.min(maxPodGraceSeconds, own);
  return Math.max(HARD_GRACE_SECONDS, max);
}

/** Whether which pod goes depends on what pods have on disks. */
export function needsDisks({ threshold }: PressurePlan): boolean {
  return SIGNAL_FACTS[threshold.signal].disk !== undefined;
}
