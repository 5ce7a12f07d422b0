// State files of earlier versions are read by this one, and those of later ones are set aside with a reason; no pod notices.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  containersOf,
  type KeptState,
  playPods,
  podsOf,
  readKept,
  replaceState,
  stateOf,
} from "./kept-states.ts";
import type { World } from "./world.ts";

const STATES = join(import.meta.dirname, "../testdata/states");
const WATCHED_MS = 120_000;

/** Starts this version's agent in place of the one that played, and watches it. */
async function restart(world: World): Promise<readonly string[]> {
  const before = containersOf(world);
  const noted = world.trace.length;
  world.startAgent();
  await world.advance(WATCHED_MS);
  assert.ok(world.agent, world.trace.join("\n"));
  assert.deepEqual(containersOf(world), before, "containers were started or removed");
  const running = [...world.runtime.containers.values()].filter(({ state }) => state === "running");
  assert.equal(running.length, 5);
  return world.trace.slice(noted).filter((line) => line.includes("state file"));
}

for (const name of readdirSync(STATES))
  test(`the state of ${name}: all of it is read, no container is touched, no condition flips`, async () => {
    const kept = readKept(join(STATES, name));
    const world = await playPods();
    await world.stopAgent();
    await replaceState(world, kept);
    assert.deepEqual(await restart(world), []);
    const now = new Map(podsOf(world).map((pod) => [pod.uid, pod]));
    for (const { uid, conditions, ...pod } of kept.pods) {
      const found = now.get(uid);
      assert.ok(found, `${pod.name} is gone`);
      const { conditions: all, uid: _, ...rest } = found;
      assert.deepEqual(rest, pod);
      assert.deepEqual(
        all.filter((condition) => conditions.some((one) => sameType(one, condition))),
        conditions,
      );
    }
  });

function sameType(one: string, other: string): boolean {
  return one.split(" ")[0] === other.split(" ")[0];
}

/** The same content as a later version might write it; `undefined` of a file that states no version. */
function ofLaterVersion(text: string): string | undefined {
  const later = text
    .replace(/^(\{"(?:format|version)":)\d+/gm, "$199")
    .replace(/^(\{.*"apiVersion":"kubelet\.config\.k8s\.io\/)v1[a-z0-9]*"/, '$1v99"');
  return later === text ? undefined : later;
}

test("state of a later version is set aside with the reason, and the agent keeps its pods", async () => {
  const world = await playPods();
  await world.stopAgent();
  const files: Record<string, string> = {};
  const changed: string[] = [];
  for (const [path, text] of Object.entries(await stateOf(world))) {
    const later = ofLaterVersion(text);
    if (later !== undefined) changed.push(path);
    files[path] = later ?? text;
  }
  for (const name of ["pod-statuses.jsonl", "images.json"])
    assert.ok(
      changed.some((path) => path.endsWith(`/${name}`)),
      changed.join("\n"),
    );
  const containers = containersOf(world);
  await replaceState(world, { files, containers, pods: [] } satisfies KeptState);
  const reported = await restart(world);
  for (const path of changed)
    assert.ok(
      reported.some((line) => line.includes(`"path":"${path}"`) && /99|version/.test(line)),
      `${path} is not reported:\n${reported.join("\n")}`,
    );
});
