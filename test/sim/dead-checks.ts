// What is dead and still there: no more than one attempt of each container, and the sandboxes that those lived in.
import type { World } from "./world.ts";

/** Dead attempts and sandboxes of a pod that the runtime has. */
export interface Dead {
  /** By name of their container. */
  readonly attempts: ReadonlyMap<string, number>;
  readonly sandboxes: number;
  /** Sandboxes in which nothing is left, beside the newest. */
  readonly empty: readonly string[];
}

/** What is dead of the pod with this UID. */
export function deadOf({ runtime }: World, uid: string): Dead {
  const sandboxes = [...runtime.sandboxes.values()].filter(
    ({ config }) => config.metadata?.uid === uid,
  );
  const ids = new Set(sandboxes.map(({ id }) => id));
  const containers = [...runtime.containers.values()].filter(({ sandboxId }) => ids.has(sandboxId));
  const attempts = new Map<string, number>();
  for (const { state, config } of containers) {
    const name = config.metadata?.name ?? "";
    if (state === "exited") attempts.set(name, (attempts.get(name) ?? 0) + 1);
  }
  const dead = sandboxes.filter(({ ready }) => !ready);
  const used = new Set(containers.map(({ sandboxId }) => sandboxId));
  const newest = sandboxes.at(-1);
  const empty = dead.filter((each) => each !== newest && !used.has(each.id)).map(({ id }) => id);
  return { attempts, sandboxes: dead.length, empty };
}

/** What is dead of a pod that has settled and should be gone; `undefined` when nothing is. */
export function surplusOf(world: World, uid: string): string | undefined {
  const { attempts, empty } = deadOf(world, uid);
  const surplus = [...attempts].filter(([, count]) => count > 1);
  if (surplus.length > 0)
    return `dead attempts are left: ${surplus.map(([name, count]) => `${name} ${count}`).join()}`;
  return empty.length > 0 ? `dead sandboxes are left: ${empty.join()}` : undefined;
}
