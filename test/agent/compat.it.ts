// A node that goes from the defaults of Kubernetes 1.36 to those of 1.37 and back, under running pods.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { withBox } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { BoxedAgent, type Manifest, manifest, STAY } from "../support/agent.ts";
import { essence } from "../support/essence.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";

const PODS = 20;
/** Longer than any probe and than the rounds in which cgroups are compared with the plan. */
const SETTLED_MS = 15_000 * TIMEOUT_FACTOR;
const OLD = ["--compat=1.36"];

/**
 * Every fourth pod is limited as a whole, Guaranteed, Burstable or best effort; every second one is probed. Static pods
 * that have limits as a whole and no requests are left out: their class is another one in 1.37.
 */
function podOf(i: number): Manifest {
  const amounts = { cpu: "10m", memory: "16Mi" };
  const sizes = [
    { pod: { requests: amounts, limits: { cpu: "100m", memory: "64Mi" } } },
    { own: { requests: amounts, limits: amounts } },
    { own: { requests: amounts } },
    {},
  ] as const;
  const { pod, own } = { pod: undefined, own: undefined, ...sizes[i % sizes.length] };
  const probe = { exec: { command: ["true"] }, periodSeconds: 2, timeoutSeconds: 10 };
  return manifest(`p${i}`, {
    ...(pod && { resources: pod }),
    containers: [
      {
        name: "main",
        image: TEST_IMAGE,
        command: [...STAY],
        ...(own && { resources: own }),
        ...(i % 2 === 0 && { readinessProbe: probe, livenessProbe: probe }),
      },
    ],
  });
}

test(`${PODS} pods: from the defaults of 1.36 to those of 1.37 and back, no restart, no condition flips`, () =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box, { flags: OLD });
    for (let i = 0; i < PODS; i += 1) agent.apply(`p${i}.yaml`, podOf(i));
    await agent.untilReady(PODS, 120_000);
    await sleep(SETTLED_MS);
    const before = essence(agent.statuses());
    let running = agent;
    for (const flags of [[], OLD, []]) {
      await running.stop();
      running = await BoxedAgent.start(box, { flags });
      await sleep(SETTLED_MS);
      assert.equal(essence(running.statuses()), before, `with ${flags.join(" ") || "no flag"}`);
    }
  }));
