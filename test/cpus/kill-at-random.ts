/** Pods that have a CPU alone come and go while the agent is killed at random. */
import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { BoxedAgent } from "../support/agent.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";
import { withNode } from "../volumes/world.ts";
import { owning, STATIC, sharing, untilOneOwner } from "./cpu-owners.ts";

const LONGEST_MS = 1_500;
const SETTLED_MS = 20_000 * TIMEOUT_FACTOR;

/**
 * In each cycle an owner of a CPU comes and goes, and the agent is killed somewhere in both; after it was started again, the
 * state file and the kernel agree and no CPU has two owners.
 */
export function killAtRandom(cycles: number): Promise<void> {
  return withNode(
    async ({ agent, box }) => {
      agent.apply("others.yaml", sharing("others"));
      await agent.untilReady();
      const isGone = () => agent.statuses().size === 1;
      for (let cycle = 0; cycle < cycles; cycle += 1) {
        agent.apply("owner.yaml", owning("owner"));
        await killed(agent);
        await agent.untilReady(2);
        await untilOneOwner(box, agent, SETTLED_MS);
        agent.remove("owner.yaml");
        await killed(agent);
        await agent.until("the owner is gone", isGone);
        await untilOneOwner(box, agent, SETTLED_MS);
      }
    },
    { agent: { config: STATIC } },
  );
}

async function killed(agent: BoxedAgent): Promise<void> {
  await sleep(randomInt(LONGEST_MS));
  await agent.kill();
  await agent.start();
}
