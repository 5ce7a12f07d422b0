// Pulls, starts and collections at the same time, in seeded interleavings: no container may ever fail to be
// made because its image was just collected.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { IdentifiedPod } from "../../src/api/pod-identity.ts";
import { createSeededRandom, type Random } from "../../src/kit/random.ts";
import { Holds } from "../../src/subsystems/images/gc/holds.ts";
import { commandOf } from "../sim/programs.ts";
import { ImageWorld, podOf } from "./world.ts";

const SEEDS = Number(process.env["RACE_SEEDS"] ?? "200");
const NAMES = ["a", "b", "c", "d"].map((name) => `nodelet.test/${name}:1`);
const POLICIES = ["IfNotPresent", "IfNotPresent", "Always", "Never"];
const STEPS = 60;

const pick = <T>(random: Random, all: readonly T[]): T => {
  const one = all[Math.floor(random.next() * all.length)];
  if (one === undefined) throw new RangeError("nothing to pick from");
  return one;
};

/** One start of a container, as the pods module does it; resolves with what went wrong. */
async function start(
  world: ImageWorld,
  pod: IdentifiedPod,
  image: string,
  policy: string,
): Promise<string> {
  const { uid } = pod.metadata;
  const { runtime } = world.runtime;
  const answer = await world.images.ensure({ pod, container: "c", image, policy }, world.signal);
  // A pod with policy Never that came when the image was gone already has lost nothing to a race.
  if (answer.kind === "refused") return "";
  try {
    const metadata = { name: uid, namespace: "default", uid, attempt: 0 };
    const sandbox = await runtime.runSandbox({ metadata }, "", world.signal);
    const config = {
      metadata: { name: "c", attempt: 0 },
      image: { image: answer.image.ref },
      labels: { "io.kubernetes.pod.uid": uid },
      command: [...commandOf({ kind: "sleep" })],
    };
    const id = await runtime.createContainer(sandbox, config, {}, world.signal);
    await runtime.startContainer(id, world.signal);
    return "";
  } catch (error) {
    return `${uid} of ${image} (${policy}): ${String(error)}`;
  } finally {
    answer.release();
  }
}

/** Plays one seed; resolves with how many images were removed. */
async function play(seed: number): Promise<number> {
  const random = createSeededRandom(seed);
  const world = await new ImageWorld({
    seed,
    config: {
      imageMinimumGCAge: 0 as never,
      serializeImagePulls: random.next() < 0.5,
      registryPullQPS: 0,
    },
    runtime: { latencyMs: pick(random, [0, 5, 200]) },
  }).open();
  world.runtime.store.pullTakes = (_, signal) =>
    world.clock.sleep(Math.floor(random.next() * 300), signal);
  for (const name of NAMES) if (random.next() < 0.7) world.runtime.store.add(name);
  const work: Promise<string>[] = [];
  let removed = 0;
  for (let step = 0; step < STEPS; step += 1) {
    const choice = random.next();
    if (choice < 0.5) {
      const image = pick(random, NAMES);
      const pod = podOf(image, {}, `pod-${step}`);
      // Half of the pods are known to the agent, the others only ask.
      if (random.next() < 0.5) world.pods = [...world.pods, pod];
      work.push(start(world, pod, image, pick(random, POLICIES)));
    } else if (choice < 0.75) {
      const pass = world.images.deleteUnused(world.signal).then((result) => {
        removed += result.removed.length;
        assert.deepEqual(result.errors, []);
        return "";
      });
      work.push(pass);
    } else if (choice < 0.9) {
      const all = [...world.runtime.containers.values()].flatMap(({ id, state }) =>
        state === "running" ? [id] : [],
      );
      if (all.length > 0)
        work.push(
          world.runtime.runtime.removeContainer(pick(random, all), world.signal).then(() => ""),
        );
    } else if (world.pods.length > 0) world.pods = world.pods.slice(1);
    await world.clock.advance(Math.floor(random.next() * 250));
  }
  const wrong = await world.run(Promise.all(work));
  assert.deepEqual(
    wrong.filter((text) => text !== ""),
    [],
    `seed ${seed}`,
  );
  return removed;
}

test(`${SEEDS} interleavings of starts and collections: no container misses its image`, async () => {
  let removed = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) removed += await play(seed);
  assert.ok(
    removed > SEEDS,
    `the collections removed ${removed} images, too few to prove anything`,
  );
});

test("the interleavings bite: without holds containers miss their images", async () => {
  const { removeUnlessHeld } = Holds.prototype;
  Holds.prototype.removeUnlessHeld = async (_keys, _mark, remove) => {
    await remove();
    return true;
  };
  try {
    let failed = 0;
    for (let seed = 1; seed <= 50; seed += 1) {
      await play(seed).catch(() => {
        failed += 1;
      });
    }
    assert.ok(failed > 0, `only ${failed} of 50 noticed`);
  } finally {
    Holds.prototype.removeUnlessHeld = removeUnlessHeld;
  }
});
