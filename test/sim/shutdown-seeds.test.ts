// Shutdowns of the machine with pods, priorities and periods by chance; what must hold of each.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../src/api/generated/types.ts";
import { createSeededRandom } from "../../src/kit/random.ts";
import { type ClusterWorld, inCluster, podOf } from "./cluster-world.ts";
import type { StoredObject } from "./fake-api-objects.ts";
import type { Program } from "./programs.ts";

const SEEDS = 12;
const PRIORITIES = [-5, 0, 500, 1_000, 2_000_000_000] as const;
const PROGRAMS = ["sleep", "polite", "stubborn"] as const satisfies readonly Program["kind"][];
const GRACES = [0, 1, 5, 30, 600] as const;
/** The shortest has time for a pod that is killed at the end of its grace. */
const MIN_SECONDS = 3;
const MORE_SECONDS = 12;

for (let seed = 1; seed <= SEEDS; seed += 1) {
  const random = createSeededRandom(seed);
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random.next() * of.length)] as T;
  const periods = PRIORITIES.filter(() => random.next() < 0.6).map((priority) => ({
    priority,
    shutdownGracePeriodSeconds: MIN_SECONDS + Math.floor(random.next() * MORE_SECONDS),
  }));
  if (periods.length === 0) periods.push({ priority: 0, shutdownGracePeriodSeconds: MIN_SECONDS });
  const pods = Array.from({ length: 2 + Math.floor(random.next() * 8) }, (_, i) => ({
    name: `pod-${i}`,
    priority: pick(PRIORITIES),
    graceSeconds: pick(GRACES),
    program: { kind: pick(PROGRAMS) },
  }));
  test(`seed ${seed}: ${pods.length} pods in ${periods.length} periods end in order and in time`, () =>
    inCluster(
      async (cluster) => {
        const { world, api, pod } = cluster;
        const { logind } = world.host;
        for (const { name, program, priority, graceSeconds } of pods) {
          const made = podOf(name, program, "Always") as unknown as Pod;
          const spec = { ...made.spec, priority, terminationGracePeriodSeconds: graceSeconds };
          api.objects.create({ collection: "pods", namespace: "default" }, {
            ...made,
            spec,
          } as unknown as StoredObject);
        }
        await world.advance(30_000);
        const began = world.clock.monotonic();
        logind.shutDown();
        const totalMs =
          periods.reduce((sum, each) => sum + each.shutdownGracePeriodSeconds, 0) * 1000;
        await world.advance(totalMs);
        assert.ok(logind.wentDownAt !== undefined && !logind.wasForced, "it was waited for");
        for (const { name } of pods)
          assert.equal(pod(name)?.status?.reason, "Terminated", `${name} has no end`);
        const exits = exitsOf(cluster, began);
        assert.equal(exits.length, pods.length);
        const groups = exits.map((name) => groupOf(pods.find((each) => each.name === name)));
        assert.deepEqual(
          groups,
          groups.toSorted((a, b) => a - b),
          exits.join(" "),
        );
      },
      {},
      { config: { shutdownGracePeriodByPodPriority: periods } },
    ));

  /** The period that a pod belongs to, by its place. */
  function groupOf(pod: { readonly priority: number } | undefined): number {
    const { priority = 0 } = pod ?? {};
    return Math.max(
      0,
      periods.findLastIndex((period) => period.priority <= priority),
    );
  }
}

/** Names of the pods whose container has ended since, in that order. */
function exitsOf({ world }: ClusterWorld, sinceMs: number): readonly string[] {
  const names = new Map(
    [...world.runtime.sandboxes.values()].map(({ config: { metadata } }) => [
      metadata?.uid,
      metadata?.name ?? "",
    ]),
  );
  return world.runtime.actions
    .filter(({ op, atMs }) => op === "exit" && atMs >= sinceMs)
    .map(({ uid }) => names.get(uid) ?? "");
}
