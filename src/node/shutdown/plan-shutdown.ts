// pure
import { graceSecondsOf, podDisplayName, SYSTEM_CRITICAL_PRIORITY } from "../../api/pod/pod.ts";
import type { IdentifiedPod, PodUid } from "../../api/pod-identity.ts";
import type { FeatureGates } from "../../config/gates/feature-gates.ts";
import type { KubeletConfig } from "../../config/kubelet-config.ts";

/** Time that the pods of a priority, and of those up to the next entry's, get when the node shuts down. */
export interface ShutdownPeriod {
  readonly priority: number;
  readonly seconds: number;
}

/** A pod that is ended by a shutdown. */
export interface PodToEnd {
  readonly uid: PodUid;
  /** `namespace/name`. */
  readonly name: string;
  readonly priority: number;
  /** Seconds between SIGTERM and SIGKILL for its containers. */
  readonly graceSeconds: number;
}

/** Pods that are ended together. */
export interface ShutdownGroup extends ShutdownPeriod {
  readonly pods: readonly PodToEnd[];
}

type ShutdownConfig = Pick<
  KubeletConfig,
  "shutdownGracePeriod" | "shutdownGracePeriodCriticalPods" | "shutdownGracePeriodByPodPriority"
>;

/**
 * The periods of a configuration, lowest priority first; empty where a shutdown is not delayed. The two fields without
 * priorities stand for two periods (nodeshutdown_manager.go migrateConfig).
 */
export function shutdownPeriods(
  config: ShutdownConfig,
  gates: Pick<FeatureGates, "isEnabled">,
): readonly ShutdownPeriod[] {
  if (!gates.isEnabled("GracefulNodeShutdown")) return [];
  const byPriority = gates.isEnabled("GracefulNodeShutdownBasedOnPodPriority")
    ? config.shutdownGracePeriodByPodPriority
    : [];
  if (byPriority.length > 0)
    return byPriority
      .map(({ priority, shutdownGracePeriodSeconds: seconds }) => ({
        priority,
        seconds: Math.max(0, seconds),
      }))
      .toSorted((a, b) => a.priority - b.priority);
  const { shutdownGracePeriod: totalMs, shutdownGracePeriodCriticalPods: criticalMs } = config;
  if (totalMs === 0 || totalMs < criticalMs) return [];
  return [
    { priority: 0, seconds: Math.floor((totalMs - criticalMs) / 1000) },
    { priority: SYSTEM_CRITICAL_PRIORITY, seconds: Math.floor(criticalMs / 1000) },
  ];
}

/** How long all groups may take, one after the other. */
export function totalSeconds(periods: readonly ShutdownPeriod[]): number {
  return periods.reduce((sum, { seconds }) => sum + seconds, 0);
}

/**
 * The pods by period, in the order in which they are ended. A pod belongs to the period of the highest priority that is
 * not above its own, one below all periods to the first. Without periods there are no groups.
 */
export function planShutdown(
  periods: readonly ShutdownPeriod[],
  pods: readonly IdentifiedPod[],
): readonly ShutdownGroup[] {
  const indexOf = (priority: number) =>
    Math.max(
      0,
      periods.findLastIndex((period) => period.priority <= priority),
    );
  return periods.map((period, index) => ({
    ...period,
    pods: pods
      .filter((pod) => indexOf(priorityOf(pod)) === index)
      .map((pod) => ({
        uid: pod.metadata.uid,
        name: podDisplayName(pod),
        priority: priorityOf(pod),
        graceSeconds: graceSecondsIn(period, pod),
      })),
  }));
}

const priorityOf = ({ spec }: IdentifiedPod): number => spec?.priority ?? 0;

/** Of a period is kept for what comes after the containers, volumes and the status: one second of so many. */
const RESERVE_DIVISOR = 10;
const MAX_RESERVE_SECONDS = 5;
/** Shorter periods have none to spare. */
const MIN_PERIOD_SECONDS = 2;

/** Its own grace, where the period leaves time for it; else the period without the reserve. */
function graceSecondsIn({ seconds }: ShutdownPeriod, pod: IdentifiedPod): number {
  const share = Math.min(MAX_RESERVE_SECONDS, Math.ceil(seconds / RESERVE_DIVISOR));
  const reserve = seconds < MIN_PERIOD_SECONDS ? 0 : share;
  return Math.min(graceSecondsOf(pod), seconds - reserve);
}
