import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  AT,
  assertPair,
  FILES,
  HOUR_MS,
  MINUTE_MS,
  mounting,
  podWith,
  world,
} from "../../../../test/support/certificate-world.ts";

test("whatever signers say of refreshing: never before its time, never more than once a minute", async () => {
  const minutes = fc.integer({ min: -120, max: 300 });
  await fc.assert(
    fc.asyncProperty(
      fc.nat(),
      fc.array(minutes, { minLength: 1, maxLength: 6 }),
      async (seed, plan) => {
        const given = await world(seed);
        mounting(given, podWith());
        let earliest = given.clock.wall() as number;
        for (const [i, refreshIn] of plan.entries()) {
          await given.clock.runUntil(() => given.requests().length > i, 7 * HOUR_MS);
          const now = given.clock.wall();
          assert.ok(now >= earliest, `request ${i} came ${earliest - now} ms too early`);
          assert.ok(now <= earliest + 6 * MINUTE_MS, `request ${i} came ${now - earliest} ms late`);
          assert.equal(given.issue(refreshIn * MINUTE_MS), 1);
          earliest = Math.max(now + MINUTE_MS, now + refreshIn * MINUTE_MS) - 1_000;
        }
      },
    ),
    { numRuns: 30 },
  );
});

/** One minute of an API server that does what real ones do at their worst. */
const FAULTS = [
  "nothing",
  "sign",
  "sign",
  "delete",
  "cut",
  "down",
  "up",
  "faults",
  "calm",
] as const;

test("whatever the API does: files that belong together, and in the end a fresh certificate", async () => {
  const plan = fc.array(fc.constantFrom(...FAULTS), { minLength: 5, maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(fc.nat(), plan, async (seed, faults) => {
      const given = await world(seed);
      const { server, clock, issue } = given;
      const troubled = (faults: number) =>
        Object.assign(server.options, { faults, lateFaults: faults, duplicates: faults });
      const act: Readonly<Record<(typeof FAULTS)[number], () => unknown>> = {
        nothing: () => {},
        sign: () => issue(10 * MINUTE_MS, HOUR_MS),
        delete: () => {
          for (const { metadata } of given.requests())
            server.objects.delete({ ...AT, name: metadata?.name ?? "" }, {});
        },
        cut: () => server.cutWatches(),
        down: () => server.goDown(),
        up: () => server.comeBack(),
        faults: () => troubled(0.3),
        calm: () => troubled(0),
      };
      mounting(given, podWith(FILES));
      for (const fault of faults) {
        act[fault]();
        await clock.advance(MINUTE_MS);
        if ((await given.read("key.pem")) !== undefined) await assertPair(given);
      }
      const asked = server.effects.filter((line) => line.startsWith("POST")).length;
      // A request whose answer was lost is made again, within the pauses of what failed.
      assert.ok(asked <= 2 * faults.length + 8, `${asked} requests in ${faults.length} minutes`);
      server.comeBack();
      troubled(0);
      mounting(given, podWith(FILES));
      for (let minute = 0; minute < 25; minute += 1) {
        issue(24 * HOUR_MS, 48 * HOUR_MS);
        await clock.advance(MINUTE_MS);
      }
      await assertPair(given);
      assert.match(given.metrics.expose(), /state="fresh"} 1/);
    }),
    { numRuns: 60 },
  );
});
