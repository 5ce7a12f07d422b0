// Pods without claims pay nothing for those that others have: what is asked for each of their containers allocates no memory.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ClaimWorld, claimingPod } from "./world.ts";

const CALLS = 100_000;
/** What the measuring itself and the engine need; one object for each call would be 16 times as much. */
const MAX_BYTES = 200_000;

test(`${CALLS} containers without claims beside a pod with one allocate nothing`, async () => {
  const world = await new ClaimWorld().open();
  const [rich, poor] = [claimingPod("rich", "a"), claimingPod("poor")];
  await world.driver();
  world.claim("a", [rich]);
  await world.prepare(rich);
  world.lives(poor);
  const { claims } = world;
  const [container = { name: "c" }] = poor.spec?.containers ?? [];
  const { uid } = poor.metadata;
  const ask = () =>
    claims.cdiDevices(poor, container).length +
    claims.allocatedResources(uid, "c").length +
    claims.held.heldBy(poor).size;
  const bytesOf = (act: () => number): number => {
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < CALLS; i += 1) act();
    return process.memoryUsage().heapUsed - before;
  };
  assert.equal(claims.cdiDevices(poor, container), claims.cdiDevices(poor, container));
  assert.equal(claims.held.heldBy(poor), claims.held.heldBy(poor));
  // The first rounds have the compiler's memory in them; those of a busy machine are not compiled at once.
  const rounds = Array.from({ length: 9 }, () => bytesOf(ask)).toSorted((a, b) => a - b);
  assert.ok((rounds[4] ?? MAX_BYTES) < MAX_BYTES, `${rounds.join(" ")} bytes`);
  const kept: object[] = [];
  const allocating = bytesOf(() => kept.push([ask()]));
  assert.ok(allocating > MAX_BYTES, "an array for each would be noticed");
  await world.close();
});
