/** Pods that have a CPU alone come and go while the agent is killed at random. */
import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { TIMEOUT_FACTOR } from "../support/agent.ts";
import { withNode } from "../volumes/world.ts";
import { owning, STATIC, sharing, untilOneOwner } from "./cpu-owners.ts";

const LONGEST_MS = 1_500;
const SETTLED_MS = 20_000 * TIMEOUT_FACTOR;

/**
 * In each cycle one owner of a CPU takes the place of another, and the agent is killed somewhere between; after it was started
 * again, the state file and the kernel agree and no CPU has two owners.
 */
export function killAtRandom(cycles: number): Promise<void> {
  return withNode(
    async ({ agent, box }) => {
      agent.apply("others.yaml", sharing("others"));
      await agent.untilReady();
      for (let cycle = 0; cycle < cycles; cycle += 1) {
        if (cycle > 0) agent.remove(`owner-${cycle - 1}.yaml`);
        agent.apply(`owner-${cycle}.yaml`, owning(`owner-${cycle}`));
        await sleep(randomInt(LONGEST_MS));
        await agent.kill();
        await agent.start();
        await agent.untilReady(2);
        await untilOneOwner(box, agent, SETTLED_MS);
      }
    },
    { agent: { config: STATIC } },
  );
}
