import type { Clock } from "../kit/clock.ts";
import type { HealthRegistry } from "../kit/health/health.ts";
import type { WatchedLease } from "../node/service/judge-watchdog.ts";
import { startServiceNotify } from "../node/service/service-notify.ts";
import type { Pipeline } from "../pipeline/pipeline.ts";
import type { Subsystems } from "../subsystems/subsystems.ts";
import type { Cluster } from "./cluster.ts";
import type { Foundation } from "./foundation.ts";

interface ServiceParts {
  readonly subsystems: Subsystems;
  readonly pipeline: Pipeline;
  readonly health: HealthRegistry;
  readonly cluster: Cluster | undefined;
}

const isNamed = (name: string) => (check: { readonly name: string }) => check.name === name;

/** What a restart of the agent could do for its lease. */
function leaseOf(
  { clients, leaseOutcome }: Cluster,
  clock: Pick<Clock, "monotonic">,
): Omit<WatchedLease, "hasExpired"> {
  const answeredAt = clients.answeredAt.get();
  const isRefused = ["refused", "waiting"].includes(leaseOutcome());
  return answeredAt === undefined
    ? { isRefused }
    : { isRefused, answerAgeMs: clock.monotonic() - answeredAt };
}

/** Notifies the service manager of the state of the agent, where one has started it. */
export function assembleService(
  { options, outside, scope, shuttingDown }: Foundation,
  { subsystems, pipeline, health, cluster }: ServiceParts,
): void {
  const { clock, serviceNotifier: manager } = outside;
  if (!manager) return;
  const { watch } = subsystems.runtime;
  const began = clock.monotonic();
  startServiceNotify({
    manager,
    clock,
    log: outside.log.child("service"),
    scope,
    watched: () => {
      const problems = health.list().filter(({ problem }) => problem !== undefined);
      return {
        unhealthy: problems
          .filter(({ severity }) => severity === "unhealthy")
          .map(({ name, problem }) => `${name}: ${problem}`),
        listing: {
          ageMs: clock.monotonic() - (watch.lastListing.get() ?? began),
          isRuntimeReady: watch.health.get().ready,
        },
        isOverloaded: problems.some(isNamed("event-loop")),
        ...(cluster
          ? { lease: { hasExpired: problems.some(isNamed("lease")), ...leaseOf(cluster, clock) } }
          : {}),
      };
    },
    seen: pipeline.seen,
    status: () => {
      const { length } = pipeline.pods.list();
      const state = shuttingDown.get()
        ? "the machine shuts down"
        : pipeline.seen.get()
          ? "running"
          : "waiting for a source of pods";
      return `node ${options.nodeName}: ${state}, ${length} ${length === 1 ? "pod" : "pods"}`;
    },
  });
}
