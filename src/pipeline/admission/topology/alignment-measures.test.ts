import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../../test/sim/sim-clock.ts";
import { MetricsRegistry } from "../../../kit/metrics.ts";
import { alignmentMeasures } from "./alignment-measures.ts";

for (const [policy, shown] of [
  ["none", 0],
  ["best-effort", 4],
  ["single-numa-node", 4],
] as const)
  test(`alignmentMeasures shows ${shown} series from the beginning with the policy ${policy}`, () => {
    const metrics = new MetricsRegistry();
    alignmentMeasures(metrics, new SimClock(), { policy, scope: "container" });
    const series =
      /^kubelet_container_aligned_compute_resources_\w*count\{boundary="numa_node",scope="(container|pod)"\} 0$/gm;
    assert.equal(metrics.expose().match(series)?.length ?? 0, shown);
  });
