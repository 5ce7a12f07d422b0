import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { MetricsRegistry } from "../../kit/metrics.ts";
import { queueMeasures } from "./queue-measures.ts";

test("a queue shows what waits, for how long, and how long work takes", async () => {
  const clock = new SimClock();
  const metrics = new MetricsRegistry();
  const queue = queueMeasures("statuses", metrics, clock);
  const has = (line: string) => assert.ok(metrics.expose().includes(`\n${line}\n`), line);
  for (const key of ["a", "a", "b", "c"]) queue.added(key);
  queue.forgotten("c");
  has('workqueue_depth{name="statuses"} 2');
  has('workqueue_adds_total{name="statuses"} 3');
  await clock.advance(2_000);
  queue.started("a");
  queue.started("b");
  await clock.advance(3_000);
  has('workqueue_depth{name="statuses"} 0');
  has('workqueue_queue_duration_seconds_sum{name="statuses"} 4');
  has('workqueue_unfinished_work_seconds{name="statuses"} 6');
  has('workqueue_longest_running_processor_seconds{name="statuses"} 3');
  queue.done("a");
  queue.retried();
  has('workqueue_work_duration_seconds_sum{name="statuses"} 3');
  has('workqueue_unfinished_work_seconds{name="statuses"} 3');
  has('workqueue_retries_total{name="statuses"} 1');
});
