/** How long the node took to start, from the machine to a node that is ready. */
import type { Node } from "../../api/generated/types.ts";
import { METRICS } from "../../api/metrics/metrics.ts";
import type { Reading } from "../../kit/cell.ts";
import type { Clock, WallMs } from "../../kit/clock.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";

/** Sources of the measurements. */
interface StartupDeps {
  readonly metrics: MetricsRegistry;
  readonly clock: Pick<Clock, "wall">;
  /** When the agent was started. */
  readonly startedAt: WallMs;
  /** `/proc/stat`, which says when the machine was started. */
  readonly procStat: string | undefined;
  /** The node's own object, as the API has it; undefined until it is registered. */
  readonly node: Reading<Node | undefined>;
}

/** Registers the metrics; to be called when the node is about to be registered. */
export function measureStartup(deps: StartupDeps): void {
  const { metrics, clock, startedAt, node } = deps;
  const preAgent = metrics.gauge(METRICS.kubelet_node_startup_pre_kubelet_duration_seconds);
  const preRegistration = metrics.gauge(
    METRICS.kubelet_node_startup_pre_registration_duration_seconds,
  );
  const registration = metrics.gauge(METRICS.kubelet_node_startup_registration_duration_seconds);
  const postRegistration = metrics.gauge(
    METRICS.kubelet_node_startup_post_registration_duration_seconds,
  );
  const whole = metrics.gauge(METRICS.kubelet_node_startup_duration_seconds);
  const bootedAt = Number(/^btime (\d+)$/m.exec(deps.procStat ?? "")?.[1] ?? Number.NaN) * 1000;
  const askedAt = clock.wall();
  let registeredAt: WallMs | undefined;
  if (Number.isFinite(bootedAt)) preAgent.set(Math.max(0, startedAt - bootedAt) / 1000);
  preRegistration.set(Math.max(0, askedAt - startedAt) / 1000);
  const note = (now: Node | undefined) => {
    if (!now) return;
    if (registeredAt === undefined) {
      registeredAt = clock.wall();
      registration.set(Math.max(0, registeredAt - askedAt) / 1000);
    }
    const ready = now.status?.conditions?.find(({ type }) => type === "Ready");
    if (ready?.status !== "True") return;
    stop();
    postRegistration.set(Math.max(0, clock.wall() - registeredAt) / 1000);
    if (Number.isFinite(bootedAt)) whole.set(Math.max(0, clock.wall() - bootedAt) / 1000);
  };
  const stop = node.subscribe(note);
  note(node.get());
}
