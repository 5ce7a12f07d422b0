// One pod has a container event about every second, for a while, on real containerd.
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { withBox } from "../box/box.ts";
import { PodsOfAgent, shell } from "../pods/world.ts";
import { BoxedAgent } from "../support/agent.ts";
import { STAY } from "../support/stay.ts";

/** A listing every 30 s, measured every 10 s, on a machine that may be busy. */
const LISTING_AGE_MAX_SECONDS = 60;
/** A restart is three events; restarts are a second apart at least. */
const RESTARTS_PER_MINUTE = 10;

/** The runtime is listed and the agent is well all the time, and what no event reports is seen. */
export function playEventTraffic(t: TestContext, seconds: number): Promise<void> {
  return withBox({}, async (box) => {
    const config = [
      "featureGates: {KubeletCrashLoopBackOffMax: true}",
      "crashLoopBackOff: {maxContainerRestartPeriod: 1s}",
    ].join("\n");
    const agent = await BoxedAgent.start(box, { config });
    const pods = new PodsOfAgent(agent);
    pods.apply("calm", { containers: [shell("main", STAY)] });
    pods.apply("busy", { containers: [shell("main", "sleep 0.2")] });
    await pods.untilRunning("calm");
    const until = performance.now() + seconds * 1000;
    let oldest = 0;
    while (performance.now() < until) {
      await sleep(1_000);
      assert.match(await pods.text("/healthz?verbose"), /\[\+\]syncloop ok/);
      const metrics = await pods.text("/metrics");
      const age = /^nodelet_health_lag_seconds\{check="runtime-listing"\} ([\d.]+)$/m.exec(metrics);
      oldest = Math.max(oldest, Number(age?.[1] ?? 0));
      assert.ok(oldest < LISTING_AGE_MAX_SECONDS, `the runtime was listed ${oldest} s ago`);
    }
    const restarts = (await pods.container("busy"))?.restartCount ?? 0;
    t.diagnostic(`${restarts} restarts in ${seconds} s; oldest listing ${oldest} s`);
    assert.ok(oldest > 0, "the age of the listing is measured");
    assert.ok(restarts > (seconds / 60) * RESTARTS_PER_MINUTE, `${restarts} restarts only`);
    assert.equal((await pods.container("calm"))?.restartCount, 0);
  });
}
