import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import type { PodUid } from "../../api/observation.ts";
import { identifyPod } from "../../api/pod-identity.ts";
import { type Log, silentLog } from "../../kit/log.ts";
import { MetricsRegistry } from "../../kit/metrics.ts";
import { DegradedPods } from "./degraded-pods.ts";

const UID = "u" as PodUid;

function world() {
  const clock = new SimClock();
  const metrics = new MetricsRegistry();
  const lines: string[] = [];
  const logAt = (level: string) => (message: string) => lines.push(`${level} ${message}`);
  const log: Log = { ...silentLog, warn: logAt("warn"), info: logAt("info") };
  const degraded = new DegradedPods({ clock, log, metrics });
  const fail = (problem = "container a: broken") =>
    degraded.failed({
      uid: UID,
      asOf: clock.monotonic(),
      describe: () => identifyPod({ metadata: { namespace: "ns", name: "p" } }),
      problem,
    }).problem;
  return { clock, metrics, lines, degraded, fail };
}

const WARNING = "warn a pod cannot be observed; nothing is done for it until it can";

test("DegradedPods: the first failure is not reported, the second is", () => {
  const { degraded, fail, lines } = world();
  assert.equal(fail(), undefined);
  assert.deepEqual([degraded.count, lines], [0, []]);
  assert.equal(fail(), "container a: broken");
  assert.deepEqual([degraded.count, lines], [1, [WARNING]]);
});

test("DegradedPods: the cause is logged once, and counted every time", () => {
  const { degraded, fail, lines, metrics } = world();
  for (let i = 0; i < 5; i += 1) fail(`container a: broken after ${i} s`);
  assert.deepEqual(lines, [WARNING]);
  fail("sandbox b: broken");
  fail("sandbox b: broken");
  assert.deepEqual(lines, [WARNING, WARNING], "another cause is news");
  const text = metrics.expose();
  assert.match(text, /^nodelet_pod_observation_failures_total 7$/m);
  assert.match(text, /^nodelet_degraded_pods 1$/m);
  degraded.observed(UID);
  assert.equal(lines.at(-1), "info the pod can be observed again");
  assert.match(metrics.expose(), /^nodelet_degraded_pods 0$/m);
});

test("DegradedPods: tries come ever later, half a minute apart at most", async () => {
  const { clock, degraded, fail } = world();
  const pauses = Array.from({ length: 7 }, () => {
    fail();
    assert.equal(degraded.isPausing(UID), true);
    assert.deepEqual(degraded.due(), []);
    return degraded.untilDueMs();
  });
  assert.deepEqual(pauses, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  await clock.advance(30_000);
  assert.deepEqual(degraded.due(), [UID]);
  degraded.gone(UID);
  assert.equal(degraded.untilDueMs(), Number.POSITIVE_INFINITY);
});
