// The wall clock is set, as by NTP, by an administrator, or because the machine was suspended.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type ClusterWorld, conditionOf, inCluster, podOf } from "./cluster-world.ts";
import { MANIFESTS } from "./world.ts";

const HOUR_MS = 3_600_000;
/** The longest pause between two restarts, and what a restart takes. */
const LONGEST_PAUSE_MS = 5 * 60_000 + 10_000;

const restarts = ({ pod }: ClusterWorld, name: string) =>
  pod(name)?.status?.containerStatuses?.[0]?.restartCount ?? 0;

for (const [what, stepMs] of [
  ["an hour forward", HOUR_MS],
  ["an hour back", -HOUR_MS],
  ["a suspended night", 9 * HOUR_MS],
] as const) {
  test(`${what}: a container in back-off is restarted no later than before, and not in a rush`, () =>
    inCluster(async (cluster) => {
      const { world, create } = cluster;
      create("crash", { kind: "exit", code: 1, afterMs: 1_000 });
      await world.advance(8 * 60_000);
      const before = restarts(cluster, "crash");
      assert.ok(before >= 4, `${before} restarts by then`);
      world.clock.stepWall(stepMs);
      await world.advance(LONGEST_PAUSE_MS);
      const soon = restarts(cluster, "crash") - before;
      assert.ok(soon >= 1, "none within the longest pause");
      await world.advance(2 * HOUR_MS);
      const later = restarts(cluster, "crash") - before - soon;
      assert.ok(later >= 20 && later <= 30, `${later} restarts within two hours`);
      assert.ok(soon <= 6, `${soon} restarts right after the step`);
    }));

  test(`${what}: what runs keeps running, the node stays Ready, its lease is renewed, new pods start`, () =>
    inCluster(async (cluster) => {
      const { world, api, pod, node, create } = cluster;
      const probe = {
        exec: { command: ["true"] },
        periodSeconds: 10,
      };
      const probed = podOf("probed", { kind: "sleep" }, "Always") as {
        spec: { containers: readonly object[] };
      };
      const containers = probed.spec.containers.map((container) => ({
        ...container,
        livenessProbe: probe,
        readinessProbe: probe,
      }));
      const place = { collection: "pods", namespace: "default" };
      api.objects.create(place, { ...probed, spec: { ...probed.spec, containers } });
      const manifest = JSON.stringify(podOf("fixed", { kind: "sleep" }, "Always"));
      await world.host.files.writeAtomic(`${MANIFESTS}/fixed.json`, manifest, 0o644);
      await world.advance(60_000);
      const ids = () =>
        ["probed", "fixed-sim"].map(
          (name) => pod(name)?.status?.containerStatuses?.[0]?.containerID,
        );
      const before = ids();
      assert.ok(before.every((id) => id !== undefined));
      const renewed = () =>
        api.objects.find({
          collection: "coordination.k8s.io/leases",
          namespace: "kube-node-lease",
          name: "sim",
        })?.spec?.["renewTime"];
      world.clock.stepWall(stepMs);
      const lease = renewed();
      await world.advance(15_000);
      assert.notEqual(renewed(), lease);
      create("new", { kind: "sleep" });
      await world.advance(60_000);
      assert.deepEqual(ids(), before);
      assert.equal(conditionOf(node(), "Ready"), "True");
      assert.equal(conditionOf(pod("probed"), "Ready"), "True");
      assert.equal(pod("new")?.status?.phase, "Running");
      assert.equal(world.agent?.health.problems.get().length, 0);
    }));
}
