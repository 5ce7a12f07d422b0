import assert from "node:assert/strict";
import { test } from "node:test";
import { MetricsRegistry } from "../../kit/metrics.ts";
import { exposeLastShutdown } from "./shutdown-metrics.ts";

for (const [what, text, started, ended] of [
  ["no state", undefined, 0, 0],
  ["what is not JSON", "{", 0, 0],
  [
    "a shutdown that did not end",
    '{"startTime":"2026-01-02T03:04:05.5Z","endTime":"0001-01-01T00:00:00Z"}',
    1_767_323_045.5,
    0,
  ],
  [
    "a whole shutdown",
    '{"startTime":"2026-01-02T03:04:05Z","endTime":"2026-01-02T03:04:35Z"}',
    1_767_323_045,
    1_767_323_075,
  ],
] as const)
  test(`exposeLastShutdown: ${what}`, async () => {
    const metrics = new MetricsRegistry();
    await exposeLastShutdown(metrics, { readText: async () => text }, "/root");
    const page = metrics.expose();
    assert.ok(page.includes(`\nkubelet_graceful_shutdown_start_time_seconds ${started}\n`), page);
    assert.ok(page.includes(`\nkubelet_graceful_shutdown_end_time_seconds ${ended}\n`), page);
  });
