// What keeps claims safe: on disk before a driver is called, nothing half done counted as done, nobody waiting longer than needed.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { IdentifiedPod } from "../../src/api/pod-identity.ts";
import type { ClaimDriverOptions } from "../support/claim-driver.ts";
import { ClaimWorld, claimingPod, STATE_FILE } from "./world.ts";

const OTHER = "nic.example.com";
const MAX_BYTES = 1_000_000;
const never = () => new Promise<void>(() => {});
const signalOf = () => new AbortController().signal;

/** A machine with a driver, and a claim of its own name for each of the pods. */
async function worldOf(
  pods: readonly IdentifiedPod[],
  options: Partial<ClaimDriverOptions> = {},
): Promise<{ readonly world: ClaimWorld; readonly driver: { readonly calls: readonly string[] } }> {
  const world = await new ClaimWorld().open();
  for (const pod of pods) {
    world.lives(pod);
    for (const { name } of pod.spec?.resourceClaims ?? []) world.claim(name, pods);
  }
  return { world, driver: (await world.driver(options)).driver };
}

const saved = async ({ host }: ClaimWorld) =>
  (await host.files.readText(STATE_FILE, { maxBytes: MAX_BYTES })) ?? "";

test("who may use a claim is on disk before its driver is called, also of pods that come together", async () => {
  const pods = [1, 2, 3].map((n) => claimingPod(`p${n}`, `c${n}`));
  const early: string[] = [];
  const { world } = await worldOf(pods, {
    before: async (_, claims) => {
      const text = await saved(world);
      for (const { name } of claims) if (!text.includes(`${name}-uid`)) early.push(name);
    },
  });
  await world.settled(Promise.all(pods.map((pod) => world.claims.prepare(pod, signalOf()))));
  assert.deepEqual(early, []);
  const text = await saved(world);
  for (const { metadata } of pods) assert.ok(text.includes(metadata.uid), metadata.name);
  await world.close();
});

test("no driver is called, and nothing held, while one of them is not registered", async () => {
  const pod = claimingPod("p1", "c1", "c2");
  const { world, driver } = await worldOf([pod]);
  world.claim("c2", [pod], { drivers: [OTHER] });
  assert.match(await world.fault(pod), /nic.example.com is not registered/);
  assert.deepEqual(driver.calls, []);
  assert.deepEqual(world.held(), []);
  await world.close();
});

test("a claim whose unpreparing failed is prepared again for the next pod", async () => {
  const [first, next] = [claimingPod("p1", "c1"), claimingPod("p2", "c1")] as const;
  const { world, driver } = await worldOf([first, next], {
    error: (call) => (call === "unprepare" ? "busy" : ""),
  });
  await world.prepare(first);
  const leave = new AbortController();
  const ends = world.claims.unprepare(first, leave.signal).catch(() => {});
  await world.clock.advance(100);
  leave.abort(new Error("enough"));
  await world.settled(ends);
  await world.prepare(next);
  assert.deepEqual(driver.calls, ["prepare c1-uid", "unprepare c1-uid", "prepare c1-uid"]);
  await world.close();
});

test("a claim that was given devices of another driver is prepared by both", async () => {
  const [first, next] = [claimingPod("p1", "c1"), claimingPod("p2", "c1")] as const;
  const { world, driver } = await worldOf([first, next]);
  const { driver: other } = await world.driver({ name: OTHER });
  await world.prepare(first);
  world.claim("c1", [first, next], { drivers: ["gpu.example.com", OTHER] });
  await world.prepare(next);
  assert.deepEqual(other.calls, ["prepare c1-uid"]);
  assert.equal(driver.calls.at(-1), "prepare c1-uid");
  await world.close();
});

for (const call of ["prepare", "unprepare"] as const)
  test(`a pod that is ended does not wait for a driver that hangs in ${call}`, async () => {
    const pod = claimingPod("p1", "c1");
    const { world } = await worldOf([pod], {
      before: (asked) => (asked === call ? never() : Promise.resolve()),
    });
    if (call === "unprepare") await world.prepare(pod);
    const leave = new AbortController();
    const waits = world.claims[call](pod, leave.signal);
    const ended = assert.rejects(waits, /it is ended/);
    await world.clock.advance(1_000);
    const before = world.clock.monotonic();
    leave.abort(new Error("it is ended"));
    await world.settled(ended);
    assert.ok(world.clock.monotonic() - before < 1_000);
    await world.close();
  });

/** Milliseconds that the pod waited on, once what it waits for has happened after a minute of failures. */
async function waitedAfter(
  world: ClaimWorld,
  pod: IdentifiedPod,
  happen: () => Promise<void> | void,
): Promise<number> {
  let ended = 0;
  const waits = world.claims.prepare(pod, signalOf()).then(() => {
    ended = world.clock.monotonic();
  });
  // Its attempts are some 16 s apart by then, the next one is not due.
  await world.clock.advance(32_500);
  await happen();
  const before = world.clock.monotonic();
  await world.settled(waits);
  return ended - before;
}

test("a driver that registers lets a pod go on at once", async () => {
  const pod = claimingPod("p1", "c1");
  const world = await new ClaimWorld().open();
  world.lives(pod);
  world.claim("c1", [pod]);
  const waited = await waitedAfter(world, pod, async () => {
    await world.driver();
  });
  assert.ok(waited < 1_000, `${waited} ms`);
  await world.close();
});

test("the name of a generated claim lets a pod go on at once", async () => {
  const pod: IdentifiedPod = {
    ...claimingPod("p1"),
    spec: { resourceClaims: [{ name: "x", resourceClaimTemplateName: "t" }], containers: [] },
  };
  const { world, driver } = await worldOf([]);
  const { metadata } = pod;
  const owner = { apiVersion: "v1", kind: "Pod", name: "p1", uid: metadata.uid, controller: true };
  world.claim("made", [pod]);
  const object = world.objects.get("made");
  world.objects.set("made", {
    ...object,
    metadata: { ...object?.metadata, ownerReferences: [owner] },
  });
  world.lives(pod);
  const waited = await waitedAfter(world, pod, () => {
    const status = { resourceClaimStatuses: [{ name: "x", resourceClaimName: "made" }] };
    world.lives({ ...pod, status });
  });
  assert.ok(waited < 1_000, `${waited} ms`);
  assert.deepEqual(driver.calls, ["prepare made-uid"]);
  await world.close();
});

test("a claim that has been unprepared lets the next pod go on at once", async () => {
  const [first, next] = [claimingPod("p1", "c1"), claimingPod("p2", "c1")] as const;
  let go = () => {};
  const { world } = await worldOf([first, next], {
    before: (call) =>
      call === "prepare"
        ? Promise.resolve()
        : new Promise((resolve) => {
            go = resolve;
          }),
  });
  await world.prepare(first);
  const ends = world.claims.unprepare(first, signalOf());
  await world.clock.advance(10);
  const waited = await waitedAfter(world, next, () => go());
  assert.ok(waited < 1_000, `${waited} ms`);
  await world.settled(ends);
  await world.close();
});

test("a pod waits two minutes for its claims, then the step has failed", async () => {
  const pod = claimingPod("p1", "c1");
  const world = await new ClaimWorld().open();
  world.lives(pod);
  world.claim("c1", [pod]);
  const failed = assert.rejects(world.claims.prepare(pod, signalOf()), {
    code: "deadline",
    message: /gpu.example.com is not registered/,
  });
  await world.settled(failed);
  assert.equal(Math.round(world.clock.monotonic() / 1000), 123);
  await world.close();
});

test("a claim that a pod names twice is prepared once", async () => {
  const pod: IdentifiedPod = {
    ...claimingPod("p1", "c1"),
    spec: {
      resourceClaims: ["a", "b"].map((name) => ({ name, resourceClaimName: "c1" })),
      containers: [],
    },
  };
  const { world, driver } = await worldOf([claimingPod("p1", "c1")]);
  await world.prepare(pod);
  assert.deepEqual(driver.calls, ["prepare c1-uid"]);
  await world.close();
});
