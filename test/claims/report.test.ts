// What `nodelet devices` and `nodelet why` know of claims.
import assert from "node:assert/strict";
import { test } from "node:test";
import { describeDecision } from "../../src/present/why/why.ts";
import { ClaimWorld, claimingPod } from "./world.ts";

const GPU = "gpu.example.com";

test("the report: drivers, prepared claims with their devices and pods, what pods wait for", async () => {
  const world = await new ClaimWorld().open();
  const [one, two, late] = [
    claimingPod("one", "a"),
    claimingPod("two", "a"),
    claimingPod("late", "b"),
  ];
  const { driver } = await world.driver();
  driver.report({ device: "of-a-uid", health: 1 });
  world.claim("a", [one, two]);
  await world.prepare(one);
  await world.prepare(two);
  world.lives(late);
  const leave = new AbortController();
  const waits = world.claims.prepare(late, leave.signal).catch(() => {});
  await world.clock.advance(2_000);
  const { drivers, claims, waiting } = world.claims.report();
  assert.deepEqual(drivers, [{ name: GPU, state: "connected", sockets: [driver.socketPath] }]);
  const now = world.clock.wall();
  assert.deepEqual(
    claims.map(({ preparedMs = 0, ...claim }) => [claim, now - preparedMs < 10_000]),
    [
      [
        {
          namespace: "default",
          name: "a",
          uid: "a-uid",
          state: "prepared",
          withoutDevices: [],
          devices: [
            {
              driver: GPU,
              pool: "pool",
              device: "of-a-uid",
              requests: [],
              cdiDevices: ["example.com/device=a-uid"],
              health: "Healthy",
            },
          ],
          pods: ["default/one", "default/two"],
        },
        true,
      ],
    ],
  );
  const reason = 'fetch ResourceClaim b: resourceclaims "b" not found';
  assert.deepEqual(
    waiting.map(({ sinceMs: _, ...wait }) => wait),
    [{ pod: "default/late", for: "preparation", claims: ["b"], reason }],
  );
  leave.abort(new Error("the pod is being ended"));
  await waits;
  assert.deepEqual(world.claims.report().waiting, []);
  await world.close();
});

test("the history of a pod names the devices of its claims, also of one that another pod has", async () => {
  const world = await new ClaimWorld().open();
  const [one, two] = [claimingPod("one", "a"), claimingPod("two", "a")];
  await world.driver();
  world.claim("a", [one, two]);
  await world.prepare(one);
  await world.prepare(two);
  const subject = { kind: "pod", name: "default/one" } as const;
  assert.deepEqual(
    world.decisions.map((decision) =>
      describeDecision({ id: 1, atMs: 0, subject, ...decision } as never),
    ),
    [
      "Resource claim a gives gpu.example.com/pool/of-a-uid (its drivers have prepared it).",
      "Resource claim a gives gpu.example.com/pool/of-a-uid (it was prepared before).",
    ],
  );
  await world.close();
});

test("after a restart a claim is held until it is prepared again, without a time", async () => {
  const world = await new ClaimWorld().open();
  const pod = claimingPod("one", "a");
  await world.driver();
  world.claim("a", [pod]);
  await world.prepare(pod);
  world.kill();
  await world.open();
  const [claim] = world.claims.report().claims;
  assert.deepEqual([claim?.state, claim?.preparedMs], ["held", undefined]);
  await world.close();
});
