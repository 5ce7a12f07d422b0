import type { Random } from "../../src/kit/random.ts";
import { crash, loseSandbox } from "./scenario.ts";
import type { World } from "./world.ts";

/** Crashes a container that runs, or ends a sandbox that is ready; nothing where there is none. */
export function hurtRuntime(world: World, random: Random): void {
  const anyRuns = [...world.runtime.containers.values()].some(({ state }) => state === "running");
  if (random.next() < 0.6 && anyRuns) crash(world, random);
  else loseSandbox(world, random);
}
