/** How long pods take to start, in the Go kubelet's terms (pod_startup_latency_tracker.go). */
import { METRICS } from "../../api/metrics/metrics.ts";
import type { PodUid } from "../../api/observation.ts";
import { isStaticPod } from "../../api/pod/pod.ts";
import type { Clock, WallMs } from "../../kit/clock.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { Pods } from "../../pipeline/pods/pods.ts";
import type { PodRecord } from "../../pipeline/pods/record/record.ts";
import { isStateless, slowPartsMs } from "./start-times.ts";

interface PodStartDeps {
  readonly clock: Pick<Clock, "wall">;
  readonly pods: Pick<Pods, "subscribe">;
}

/** A pod that starts. */
interface Starting {
  /** Containers that wait for an image, and since when. */
  readonly pulling: Map<string, WallMs>;
  readonly pulls: (readonly [from: WallMs, to: WallMs])[];
}

/** Pods that start at once and whose times are kept; others are not measured. */
const MAX_STARTING = 10_000;
/** How the progress of a pull begins (image-texts.ts). */
const PULL = /^(Pulling|Waiting to pull) image /;

/**
 * Measures every pod that begins to run while the agent watches. Costs one look-up for each change of a pod that runs
 * already. Returns what ends it.
 */
export function measureStarts(metrics: MetricsRegistry, { clock, pods }: PodStartDeps): () => void {
  const sinceSeen = metrics.histogram(METRICS.kubelet_pod_start_duration_seconds);
  const objective = metrics.histogram(METRICS.kubelet_pod_start_sli_duration_seconds);
  const total = metrics.histogram(METRICS.kubelet_pod_start_total_duration_seconds);
  const first = metrics.gauge(METRICS.kubelet_first_network_pod_start_sli_duration_seconds);
  let isFirstSeen = false;
  const starting = new Map<PodUid, Starting>();
  const measure = (record: PodRecord, { pulls }: Starting) => {
    const now = clock.wall();
    sinceSeen.observe(Math.max(0, now - record.startedAt) / 1000);
    const created = Date.parse(record.pod.metadata.creationTimestamp ?? "");
    if (isStaticPod(record.pod) || Number.isNaN(created)) return;
    const allMs = Math.max(0, now - created);
    total.observe(allMs / 1000);
    const slowMs = slowPartsMs(record.observed, pulls);
    if (!isStateless(record.pod)) return;
    const seconds = Math.max(0, allMs - slowMs) / 1000;
    objective.observe(seconds);
    if (isFirstSeen || record.pod.spec?.hostNetwork === true) return;
    isFirstSeen = true;
    first.set(seconds);
  };
  return pods.subscribe((record) => {
    const { uid, life, prerequisites } = record;
    // One that is admitted at once is seen running first, with nothing made for it yet.
    const isAlive = life.kind === "waiting" || life.kind === "running";
    if (isAlive && prerequisites.directories === "absent") {
      if (!starting.has(uid) && starting.size < MAX_STARTING)
        starting.set(uid, { pulling: new Map(), pulls: [] });
      return;
    }
    const known = starting.get(uid);
    if (!known) return;
    if (!isAlive) {
      starting.delete(uid);
      return;
    }
    notePulls(record, known, clock.wall());
    if (!allRun(record)) return;
    starting.delete(uid);
    measure(record, known);
  });
}

/** Notes from when to when containers wait for their images. */
function notePulls(
  { lastPlan: { progress } }: PodRecord,
  { pulling, pulls }: Starting,
  now: WallMs,
): void {
  for (const [container, message] of Object.entries(progress))
    if (PULL.test(message) && !pulling.has(container)) pulling.set(container, now);
  for (const [container, since] of pulling)
    if (!PULL.test(progress[container] ?? "")) {
      pulling.delete(container);
      pulls.push([since, now]);
    }
}

function allRun({ pod, observed }: PodRecord): boolean {
  const running = new Set(
    observed.containers
      .filter(({ startedAtMs }) => startedAtMs !== undefined)
      .map(({ name }) => name),
  );
  return (pod.spec?.containers ?? []).every(({ name }) => running.has(name));
}
