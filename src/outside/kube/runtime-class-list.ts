import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import type { Random } from "../../kit/random.ts";
import type { TaskScope } from "../../kit/scope.ts";
import type { KubeClient } from "./client.ts";
import { followObjects } from "./reflector.ts";
import { RUNTIME_CLASSES } from "./resources.ts";

/** Result of looking up a runtime class. */
export type RuntimeClassAnswer =
  | { readonly kind: "found"; readonly handler: string }
  | { readonly kind: "missing" }
  /** The classes were not listed yet. */
  | { readonly kind: "unknown" };

/** The runtime classes of the cluster, as last known. */
export interface RuntimeClassList {
  lookUp(name: string): RuntimeClassAnswer;
}

interface RuntimeClassListDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly scope: TaskScope;
}

/** Follows all runtime classes; keeps of each only its handler. */
export function followRuntimeClasses(deps: RuntimeClassListDeps): RuntimeClassList {
  const { client, clock, random, log, scope } = deps;
  const handlers = new Map<string, string>();
  let listed = false;
  scope.spawn("runtime classes", "restart", async (signal) => {
    const options = { resource: RUNTIME_CLASSES };
    for await (const change of followObjects(options, { client, clock, random, log }, signal)) {
      if (change.kind === "all") {
        handlers.clear();
        for (const { metadata, handler } of change.objects)
          handlers.set(metadata?.name ?? "", handler);
        listed = true;
      } else {
        const { metadata, handler } = change.object;
        if (change.kind === "set") handlers.set(metadata?.name ?? "", handler);
        else handlers.delete(metadata?.name ?? "");
      }
    }
  });
  return {
    lookUp: (name) => {
      const handler = handlers.get(name);
      if (handler !== undefined) return { kind: "found", handler };
      return { kind: listed ? "missing" : "unknown" };
    },
  };
}
