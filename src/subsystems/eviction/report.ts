// pure
import { crossingMs } from "./forecast.ts";
import { amountText, type SignalObservations } from "./observations.ts";
import type { EvictionPlan, PressurePlan, ThresholdView } from "./plan.ts";
import { exceedsRequest, type RankedPod } from "./rank.ts";
import type { DiskLayout } from "./signals.ts";
import { isHard, thresholdText } from "./thresholds.ts";

/** One threshold beside what is left; amounts as the Go kubelet writes them. */
export interface ReportedSignal {
  readonly signal: string;
  readonly kind: "hard" | "soft";
  readonly state: ThresholdView["state"];
  /** Missing when the signal could not be measured. */
  readonly threshold?: string;
  readonly available?: string;
  readonly capacity?: string;
  /** Of soft thresholds. */
  readonly graceLeftMs?: number;
  /** When the threshold will be met at the present rate; missing when it will not within a day. */
  readonly metInMs?: number;
}

/** One pod in the order of eviction. */
export interface ReportedPod {
  readonly name: string;
  readonly priority: number;
  /** Missing when nothing of the pod could be measured. */
  readonly used?: string;
  readonly requested: string;
  /** Why it stands where it stands. */
  readonly why: string;
  /** `goes` is the one that a round would evict; `stays` are those that are never evicted. */
  readonly fate: "goes" | "next" | "stays";
}

/** Result of a dry run of eviction. */
export interface EvictionReport {
  readonly layout: DiskLayout;
  readonly signals: readonly ReportedSignal[];
  readonly conditions: readonly string[];
  /** Pods that exceed limits of their own, with the messages they would get. */
  readonly excesses: readonly { readonly name: string; readonly message: string }[];
  /** Missing when nothing is short, or pods exceed limits of their own. */
  readonly pressure?: {
    readonly signal: string;
    readonly resource: string;
    readonly reclaim: readonly string[];
    /** Message of the pod that goes. */
    readonly message?: string;
    readonly pods: readonly ReportedPod[];
  };
}

/** The report of a plan; `before` is what was observed up to a minute ago, from which rates are computed. */
export function reportEviction(
  plan: EvictionPlan,
  layout: DiskLayout,
  before: SignalObservations = new Map(),
): EvictionReport {
  const { views, conditions, excesses, pressure } = plan;
  return {
    layout,
    signals: views.map((view) => signalOf(view, before)),
    conditions,
    excesses: excesses.map(({ candidate, message }) => {
      const { name, namespace } = candidate.pod.metadata;
      return { name: `${namespace}/${name}`, message };
    }),
    ...(pressure ? { pressure: pressureOf(pressure) } : {}),
  };
}

function signalOf(view: ThresholdView, before: SignalObservations): ReportedSignal {
  const { threshold, observed, state, graceLeftMs } = view;
  const { signal } = threshold;
  const metInMs = crossingMs(view, before.get(signal));
  const kind = isHard(threshold) ? "hard" : "soft";
  return {
    signal,
    kind,
    state,
    ...(observed
      ? {
          threshold: thresholdText(threshold, observed),
          available: amountText(signal, observed.available),
          capacity: amountText(signal, observed.capacity),
        }
      : {}),
    ...(kind === "soft" ? { graceLeftMs } : {}),
    ...(metInMs === undefined ? {} : { metInMs }),
  };
}

function pressureOf(pressure: PressurePlan): NonNullable<EvictionReport["pressure"]> {
  const { threshold, resource, reclaim, ranking, victim } = pressure;
  const { signal } = threshold;
  return {
    signal,
    resource,
    reclaim,
    ...(victim ? { message: victim.texts.message } : {}),
    pods: ranking.map((ranked) => ({
      name: ranked.name,
      priority: ranked.priority,
      ...(ranked.used === undefined ? {} : { used: amountText(signal, ranked.used) }),
      requested: amountText(signal, ranked.requested),
      why: whyOf(ranked, resource),
      fate: fateOf(ranked, pressure),
    })),
  };
}

function fateOf(ranked: RankedPod, { victim }: PressurePlan): ReportedPod["fate"] {
  if (ranked === victim?.ranked) return "goes";
  return ranked.critical || ranked.candidate.ending === "overdue" ? "stays" : "next";
}

function whyOf(ranked: RankedPod, resource: PressurePlan["resource"]): string {
  if (ranked.critical) return "critical";
  if (ranked.candidate.ending === "overdue") return "does not end";
  if (ranked.candidate.ending !== "no") return "is being ended";
  if (ranked.used === undefined) return "not measured";
  if (resource === "pids" || resource === "inodes") return "";
  return exceedsRequest(ranked) ? "beyond its request" : "within its request";
}
