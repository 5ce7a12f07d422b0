// An agent of an earlier version (NODELET_EARLIER: its nodelet.cjs) is replaced by this one under 30 pods: no container is
// restarted, no condition flips. Then the earlier one takes over again: no container is restarted. It may not read the
// statuses that this one kept (docs/state-files.md), so that the times of its conditions start over.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { withBox } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { BoxedAgent, manifest, STAY } from "../support/agent.ts";
import { lives } from "../support/pod-lives.ts";

const EARLIER = process.env["NODELET_EARLIER"] ?? "";
const PODS = 30;
/** Pods with their phases, containers and restarts, without conditions. */
const containersIn = (text: string) =>
  text.split("\n").map((line) => JSON.parse(line || "[]").slice(0, 3));
/** Longer than any period of the probes. */
const WATCHED_MS = 20_000;

test(
  `upgrade under ${PODS} pods: no restart, no flip; downgrade: no restart`,
  {
    skip: EARLIER === "" ? "needs NODELET_EARLIER, the program of an earlier version" : false,
  },
  () =>
    withBox({}, async (box) => {
      const earlier = await BoxedAgent.start(box, { program: EARLIER });
      for (let i = 0; i < PODS; i += 1) {
        const probe = { exec: { command: ["true"] }, periodSeconds: 5, timeoutSeconds: 10 };
        const main = { name: "main", image: TEST_IMAGE, command: [...STAY] };
        earlier.apply(
          `p${i}.yaml`,
          manifest(`p${i}`, {
            containers: [{ ...main, readinessProbe: probe, livenessProbe: probe }],
          }),
        );
      }
      // Not by its state files, whose layout is another one.
      const areReady = async () => (await lives(box)).split('["Ready","True"').length === PODS + 1;
      await earlier.until("all are ready", areReady, 300_000);
      const before = await lives(box);
      assert.equal(before.split("\n").length, PODS);
      await earlier.stop();
      const now = await BoxedAgent.start(box);
      const isAsBefore = async () => (await lives(box)) === before;
      // What differs says more than that something does.
      await now.until("it answers", isAsBefore, 60_000).catch(() => {});
      assert.equal(await lives(box), before);
      await sleep(WATCHED_MS);
      assert.equal(await lives(box), before);
      await now.stop();

      await earlier.start();
      await earlier.until("all are ready again", areReady, 60_000).catch(() => {});
      await sleep(WATCHED_MS);
      assert.deepEqual(containersIn(await lives(box)), containersIn(before));
      assert.ok(await areReady());
    }),
);
