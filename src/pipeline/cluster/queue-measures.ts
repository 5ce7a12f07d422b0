import { METRICS } from "../../api/metrics/metrics.ts";
import type { Clock } from "../../kit/clock.ts";
import { largest } from "../../kit/limits/lists.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";

/** Metrics of a work queue, under the names of client-go's. Items are identified by their key. */
export interface QueueMeasures {
  /** An item waits from now on; one that waits already stays where it is. */
  added(key: string): void;
  /** An item is put back after it failed. */
  retried(): void;
  started(key: string): void;
  done(key: string): void;
  /** An item is dropped. */
  forgotten(key: string): void;
}

/** Registers the metrics of the queue with that name. */
export function queueMeasures(
  name: string,
  metrics: MetricsRegistry,
  clock: Pick<Clock, "monotonic">,
): QueueMeasures {
  const labels = { name };
  const adds = metrics.counter(METRICS.workqueue_adds_total);
  const retries = metrics.counter(METRICS.workqueue_retries_total);
  const waited = metrics.histogram(METRICS.workqueue_queue_duration_seconds).series(labels);
  const worked = metrics.histogram(METRICS.workqueue_work_duration_seconds).series(labels);
  const waiting = new Map<string, number>();
  const running = new Map<string, number>();
  const since = (begans: ReadonlyMap<string, number>) =>
    [...begans.values()].map((began) => (clock.monotonic() - began) / 1000);
  const show = (
    metric:
      | typeof METRICS.workqueue_depth
      | typeof METRICS.workqueue_unfinished_work_seconds
      | typeof METRICS.workqueue_longest_running_processor_seconds,
    value: () => number,
  ) => metrics.collected(metric, () => [{ labels, value: value() }]);
  show(METRICS.workqueue_depth, () => waiting.size);
  show(METRICS.workqueue_unfinished_work_seconds, () =>
    since(running).reduce((sum, seconds) => sum + seconds, 0),
  );
  show(METRICS.workqueue_longest_running_processor_seconds, () => largest(since(running), 0));
  retries.add(labels, 0);
  return {
    added: (key) => {
      if (waiting.has(key)) return;
      waiting.set(key, clock.monotonic());
      adds.add(labels);
    },
    retried: () => retries.add(labels),
    started: (key) => {
      const now = clock.monotonic();
      waited.observe((now - (waiting.get(key) ?? now)) / 1000);
      waiting.delete(key);
      running.set(key, now);
    },
    done: (key) => {
      worked.observe((clock.monotonic() - (running.get(key) ?? clock.monotonic())) / 1000);
      running.delete(key);
    },
    forgotten: (key) => {
      waiting.delete(key);
    },
  };
}
