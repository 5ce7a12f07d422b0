/** CPU time that `/metrics` takes of an agent with 110 pods; the client and the world around the agent run in this process too. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { median, spread } from "../../tools/bench/statistics.ts";
import { startWorld } from "./world.ts";

const PODS = 110;
const WARM_UP = 10;
const ROUNDS = 40;
const MAX_CPU_MS = 15;

test(`/metrics with ${PODS} pods takes at most ${MAX_CPU_MS} ms of CPU`, async (t) => {
  await using world = await startWorld({ config: { maxPods: PODS } });
  const names = Array.from({ length: PODS }, (_, i) => `web-${i}`);
  for (const name of names)
    await world.run(name, { kind: "sleep" }, { volumes: [{ name: "data", emptyDir: {} }] });
  for (const name of names) await world.untilPhase(name, "Running");
  const took: number[] = [];
  let bytes = 0;
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    const before = process.cpuUsage();
    bytes = (await world.local("/metrics")).body.length;
    const { user, system } = process.cpuUsage(before);
    if (round >= WARM_UP) took.push((user + system) / 1_000);
  }
  const { min, max } = spread(took) ?? assert.fail();
  t.diagnostic(
    `${bytes} bytes; CPU ms: ${median(took).toFixed(1)} (${min.toFixed(1)} to ${max.toFixed(1)})`,
  );
  assert.ok(median(took) <= MAX_CPU_MS, `${median(took)} ms`);
});
