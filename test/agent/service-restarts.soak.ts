// The agent is stopped and started again a hundred times (NODELET_RESTARTS) under 30 pods with probes, as
// `systemctl restart` does: no container is restarted, no condition flips, and its API is away for a second at most, which
// only a machine can show that does nothing else.
import assert from "node:assert/strict";
import { availableParallelism, loadavg } from "node:os";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { agentNodeFlags } from "../../src/outside/memory/memory.ts";
import { type Box, withBox } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { BoxedAgent, manifest, STAY } from "../support/agent.ts";
import { ask, lives } from "../support/pod-lives.ts";

const RESTARTS = Number(process.env["NODELET_RESTARTS"] ?? 100);
const PODS = 30;
const GAP_LIMIT_MS = 1_000;
const PAUSE_MS = 10;
/** Above it, of one minute and for each CPU, the start of the program waits for others. */
const BUSY_LOAD = 1.5;

/** Asks for the pods all the time; the longest time without an answer since it was last asked for. */
function watchGaps(box: Box, signal: AbortSignal): () => number {
  let longest = 0;
  let answered = performance.now();
  const watch = async () => {
    while (!signal.aborted) {
      const isThere = (await ask(box, "/nodelet/v1/pods")) !== undefined;
      const now = performance.now();
      longest = Math.max(longest, now - answered);
      if (isThere) answered = now;
      await sleep(PAUSE_MS);
    }
  };
  void watch();
  return () => {
    const gap = longest;
    longest = 0;
    return gap;
  };
}

test(`${RESTARTS} restarts of the agent under ${PODS} pods: no restart, no flip, away for ${GAP_LIMIT_MS} ms at most`, (t) =>
  withBox({}, async (box) => {
    const agent = await BoxedAgent.start(box, { nodeFlags: agentNodeFlags(undefined) });
    for (let i = 0; i < PODS; i += 1) {
      const probe = { exec: { command: ["true"] }, periodSeconds: 5, timeoutSeconds: 10 };
      const main = { name: "main", image: TEST_IMAGE, command: [...STAY] };
      agent.apply(
        `p${i}.yaml`,
        manifest(`p${i}`, {
          containers: [{ ...main, readinessProbe: probe, livenessProbe: probe }],
        }),
      );
    }
    await agent.untilReady(PODS, 120_000);
    const before = await lives(box);
    assert.equal(before.split("\n").length, PODS);
    const leave = new AbortController();
    const gap = watchGaps(box, leave.signal);
    const gaps: number[] = [];
    for (let i = 0; i < RESTARTS; i += 1) {
      gap();
      await agent.stop();
      await agent.start();
      await agent.until("it answers", async () => (await lives(box)) === before, 60_000);
      await sleep(500);
      gaps.push(gap());
      assert.equal(await lives(box), before);
    }
    leave.abort();
    const sorted = gaps.toSorted((a, b) => a - b);
    const at = (part: number) =>
      Math.round(sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0);
    t.diagnostic(
      `the API was away for ${at(0.5)} ms (median), ${at(0.9)} ms (p90), ${at(0.99)} ms (p99)`,
    );
    const load = (loadavg()[0] ?? 0) / availableParallelism();
    if (load > BUSY_LOAD) t.diagnostic(`the machine is busy (load ${load.toFixed(1)} per CPU)`);
    else assert.ok(at(0.99) <= GAP_LIMIT_MS, `the API was away for ${at(0.99)} ms (p99)`);
  }));
