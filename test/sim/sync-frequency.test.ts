// A pod is planned again after a time even if nothing reports a change, on virtual time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type ClusterWorld, inCluster } from "./cluster-world.ts";

const LIMITS = { perContainer: 5, onNode: 4, minAgeMs: 0 };
/** Longer than the pauses between attempts, and long enough for one to have run well. */
const ATTEMPT_MS = 100_000;

/** Lets the container of a pod fail three times. */
async function failThrice({ world }: ClusterWorld, uid: string): Promise<void> {
  for (let failures = 0; failures < 3; failures += 1) {
    const [running] = attempts({ world }, uid).filter(({ state }) => state === "running");
    assert.ok(running);
    world.runtime.exitContainer(running.id, 1);
    await world.advance(ATTEMPT_MS);
  }
}

function attempts({ world }: Pick<ClusterWorld, "world">, uid: string) {
  return [...world.runtime.containers.values()].filter(
    ({ config }) => config.labels?.["io.kubernetes.pod.uid"] === uid,
  );
}

/** `syncFrequency`, and how many ended attempts the first pod keeps when the second one needs the space. */
const FREQUENCIES = [
  [60_000, 2],
  [100 * 3_600_000, 3],
] as const;

for (const [syncFrequency, kept] of FREQUENCIES)
  test(`a pod keeps ${kept} ended containers with syncFrequency ${syncFrequency / 1000} s`, () =>
    inCluster(
      async (cluster) => {
        const { world, create, pod } = cluster;
        const uidOf = (name: string) => pod(name)?.metadata?.uid ?? "";
        const ended = (name: string) =>
          attempts(cluster, uidOf(name)).filter(({ state }) => state === "exited").length;
        for (const name of ["a", "b"]) create(name, { kind: "sleep" });
        await world.advance(30_000);
        await failThrice(cluster, uidOf("a"));
        await world.advance(900_000);
        assert.equal(ended("a"), 3);
        await failThrice(cluster, uidOf("b"));
        assert.equal(ended("b"), 2);
        assert.equal(ended("a"), kept);
      },
      {},
      { agent: { deadContainers: LIMITS }, config: { syncFrequency: syncFrequency as never } },
    ));
