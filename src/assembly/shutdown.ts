import { deriveRootLayout } from "../config/derive.ts";
import { gatesInForce } from "../config/gates/feature-gates.ts";
import type { HealthRegistry } from "../kit/health/health.ts";
import { exposeLastShutdown } from "../node/metrics/shutdown-metrics.ts";
import { shutdownPeriods } from "../node/shutdown/plan-shutdown.ts";
import { NodeShutdown } from "../node/shutdown/shutdown.ts";
import { ShutdownState } from "../node/shutdown/shutdown-state.ts";
import type { Pipeline } from "../pipeline/pipeline.ts";
import type { Subsystems } from "../subsystems/subsystems.ts";
import type { Cluster } from "./cluster.ts";
import type { Foundation } from "./foundation.ts";

interface ShutdownParts {
  readonly subsystems: Subsystems;
  readonly pipeline: Pipeline;
  readonly health: HealthRegistry;
  readonly cluster: Cluster | undefined;
}

/** Has the machine wait for pods when it goes down, where a period for that is configured. */
export function assembleShutdown(
  base: Foundation,
  { subsystems, pipeline, health, cluster }: ShutdownParts,
): void {
  const { options, outside, scope, metrics, state, news, shuttingDown } = base;
  const { config, nodeName, rootFolder } = options;
  const { clock, host } = outside;
  const gates = gatesInForce(config);
  const periods = shutdownPeriods(config, gates);
  const log = outside.log.child("shutdown");
  const { logind, files } = host;
  const recordsTimes = gates.isEnabled("GracefulNodeShutdownBasedOnPodPriority");
  if (periods.length === 0 || !logind || !recordsTimes)
    scope.spawn("last shutdown", "restart", () => exposeLastShutdown(metrics, files, rootFolder));
  if (periods.length === 0) return;
  if (!logind) {
    log.warn("shutdownGracePeriod has no effect: this machine has no logind");
    return;
  }
  const { gracefulShutdown } = deriveRootLayout(rootFolder, config.podLogsDir).state;
  const shutdown = new NodeShutdown(periods, {
    ...subsystems,
    clock,
    log,
    logind,
    files,
    scope,
    news,
    nodeName,
    shuttingDown,
    pods: pipeline.pods,
    seen: pipeline.seen,
    state: new ShutdownState(gracefulShutdown, state),
    ...(cluster ? { reported: cluster.pods } : {}),
    ...(recordsTimes ? { metrics } : {}),
  });
  health.add(shutdown.check);
  shutdown.start();
}
