import type { Service } from "../../api/generated/types.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import type { Random } from "../../kit/random.ts";
import type { TaskScope } from "../../kit/scope.ts";
import type { KubeClient } from "./client.ts";
import { followObjects } from "./reflector.ts";
import { SERVICES } from "./resources.ts";

/** The services of the cluster, for the environment of pods. */
export interface ServiceList {
  /** All services, as last known; `undefined` until they were listed once. */
  list(): readonly Service[] | undefined;
}

export interface ServiceListDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly scope: TaskScope;
}

/** Follows all services of the cluster; keeps of each only what variables are made of. */
export function followServices(deps: ServiceListDeps): ServiceList {
  const { client, clock, random, log, scope } = deps;
  const known = new Map<string, Service>();
  let listed = false;
  scope.spawn("services", "restart", async (signal) => {
    const changes = followObjects({ resource: SERVICES }, { client, clock, random, log }, signal);
    for await (const change of changes) {
      if (change.kind === "all") {
        known.clear();
        for (const service of change.objects) known.set(keyOf(service), slim(service));
        listed = true;
      } else if (change.kind === "set") known.set(keyOf(change.object), slim(change.object));
      else known.delete(keyOf(change.object));
    }
  });
  return { list: () => (listed ? [...known.values()] : undefined) };
}

function keyOf({ metadata }: Service): string {
  return `${metadata?.namespace}/${metadata?.name}`;
}

function slim({ metadata, spec }: Service): Service {
  const { name = "", namespace = "" } = metadata ?? {};
  const { clusterIP = "", type = "", ports = [] } = spec ?? {};
  return { metadata: { name, namespace }, spec: { clusterIP, type, ports } };
}
