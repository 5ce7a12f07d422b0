import type { Pod } from "../../api/generated/types.ts";
import { METRICS } from "../../api/metrics/metrics.ts";
import type { Clock } from "../../kit/clock.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { Pods } from "../../pipeline/pods/pods.ts";
import type { PendingResize, PodRecord, PodResize } from "../../pipeline/pods/record/record.ts";

/** Lower bounds of the groups of priorities (metrics.go GetPriorityBucketLabel); below all of them is `very-low`. */
const PRIORITY_BUCKETS = [
  ["system-critical", 2_000_000_000],
  ["high", 100_000],
  ["medium", 1],
  ["normal", 0],
  ["low", -999],
] as const;

/** The group that a pod's priority counts in. */
export function priorityBucket({ spec }: Pod): string {
  const priority = spec?.priority ?? 0;
  return PRIORITY_BUCKETS.find(([, least]) => priority >= least)?.[0] ?? "very-low";
}

/** Pods whose resize waits, and how long it did. */
export function exposeResizes(
  metrics: MetricsRegistry,
  { pods, clock }: { readonly pods: Pick<Pods, "subscribe" | "list">; readonly clock: Clock },
): void {
  metrics.collected(METRICS.kubelet_pod_pending_resizes, () => countPending(pods.list()));
  metrics.collected(METRICS.kubelet_pod_in_progress_resizes, () => [
    { value: pods.list().filter(({ resize }) => resize.inProgress).length },
  ]);
  timeDeferred(metrics, pods, clock);
}

function countPending(records: readonly PodRecord[]) {
  const counts = new Map<string, { labels: Record<string, string>; value: number }>();
  for (const { pod, resize } of records) {
    if (!resize.pending) continue;
    const reason = resize.pending.reason.toLowerCase();
    const labels = { reason, priority_bucket: priorityBucket(pod) };
    const key = `${labels.reason} ${labels.priority_bucket}`;
    const count = counts.get(key) ?? { labels, value: 0 };
    counts.set(key, { labels, value: count.value + 1 });
  }
  return [...counts.values()];
}

/** A resize that waits as Deferred. */
interface Deferred {
  readonly pending: PendingResize;
  /** The generation that was in progress before, if any. */
  readonly inProgress: number | undefined;
}

/** Observes a Deferred resize when it waits no more (status_manager.go observeDeferredResizeDuration). */
function timeDeferred(metrics: MetricsRegistry, pods: Pick<Pods, "subscribe">, clock: Clock): void {
  const duration = metrics.histogram(METRICS.kubelet_pod_deferred_resize_duration_seconds);
  const deferred = new Map<string, Deferred>();
  pods.subscribe(({ uid, pod, life, resize }) => {
    const before = deferred.get(uid);
    const isOver = life.kind === "terminated" || life.kind === "released";
    if (!isOver && resize.pending?.reason === "Deferred") {
      deferred.set(uid, { pending: resize.pending, inProgress: resize.inProgress?.generation });
      return;
    }
    if (!before) return;
    deferred.delete(uid);
    const resolution = isOver ? "terminated" : resolutionOf(before, resize);
    if (resolution === undefined) return;
    const seconds = Math.max(0, (clock.wall() - before.pending.sinceMs) / 1000);
    duration.observe(seconds, { resolution, priority_bucket: priorityBucket(pod) });
  });
}

/** What became of it; nothing when it is Infeasible now. */
function resolutionOf(before: Deferred, { pending, inProgress }: PodResize): string | undefined {
  if (pending) return undefined;
  return inProgress && inProgress.generation !== before.inProgress ? "accepted" : "reverted";
}
