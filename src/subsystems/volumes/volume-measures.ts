import { METRICS } from "../../api/metrics/metrics.ts";
import type { Clock } from "../../kit/clock.ts";
import type { MetricsRegistry, Sample } from "../../kit/metrics.ts";
import { type LabelledVolume, selinuxCounts } from "./selinux-counts.ts";

/** A volume of a pod as metrics count it. */
export interface CountedVolume extends LabelledVolume {
  /** Whether it is there. */
  readonly isMade: boolean;
}

/** Operations on volumes, in the Go kubelet's words. */
type Operation = "volume_mount" | "volume_unmount";

/** Metrics of volume operations. */
export interface VolumeMeasures {
  /** An operation begins on a volume of that plugin's folder; the returned function takes whether it succeeded. */
  begin(plugin: string, operation: Operation): (isDone: boolean) => void;
  /** A volume is there, or gone, so long after that was first asked for. */
  completed(plugin: string, operation: Operation, tookMs: number): void;
}

interface VolumeMeasureDeps {
  readonly clock: Pick<Clock, "monotonic">;
  readonly metrics: MetricsRegistry;
  readonly volumes: () => readonly CountedVolume[];
  /** Whether the machine has SELinux: without it contexts mean nothing. */
  readonly hasSelinux: boolean;
}

/** Measures nothing, where there is no registry. */
export const UNMEASURED: VolumeMeasures = { begin: () => () => {}, completed: () => {} };

/** `kubernetes.io/secret` for the folder `kubernetes.io~secret`. */
const pluginName = (folder: string): string => folder.replace("~", "/");

/** Registers the metrics of volumes. */
export function volumeMeasures(deps: VolumeMeasureDeps): VolumeMeasures {
  const { clock, metrics, volumes } = deps;
  const operations = metrics.histogram(METRICS.storage_operation_duration_seconds);
  const whole = metrics.histogram(METRICS.volume_operation_total_seconds);
  metrics.collected(METRICS.volume_manager_total_volumes, () => countByPlugin(volumes()));
  for (const name of SELINUX)
    metrics.collected(METRICS[name], () => (deps.hasSelinux ? selinuxCounts(volumes())[name] : []));
  return {
    begin: (plugin, operation_name) => {
      const began = clock.monotonic();
      return (isDone) =>
        operations.observe((clock.monotonic() - began) / 1000, {
          volume_plugin: pluginName(plugin),
          operation_name,
          status: isDone ? "success" : "fail-unknown",
          migrated: "false",
        });
    },
    completed: (plugin, operation_name, tookMs) =>
      whole.observe(tookMs / 1000, { plugin_name: pluginName(plugin), operation_name }),
  };
}

const SELINUX = [
  "volume_manager_selinux_volumes_admitted_total",
  "volume_manager_selinux_volume_context_mismatch_errors_total",
  "volume_manager_selinux_volume_context_mismatch_warnings_total",
  "volume_manager_selinux_pod_context_mismatch_errors_total",
  "volume_manager_selinux_pod_context_mismatch_warnings_total",
  "volume_manager_selinux_container_errors_total",
  "volume_manager_selinux_container_warnings_total",
] as const;

function countByPlugin(volumes: readonly CountedVolume[]): readonly Sample[] {
  const counts = new Map<string, { desired: number; actual: number }>();
  for (const { plugin, isMade } of volumes) {
    const count = counts.get(plugin) ?? { desired: 0, actual: 0 };
    counts.set(plugin, count);
    count.desired += 1;
    if (isMade) count.actual += 1;
  }
  return [...counts].flatMap(([plugin, { desired, actual }]) => {
    const plugin_name = pluginName(plugin);
    return [
      { labels: { plugin_name, state: "desired_state_of_world" }, value: desired },
      { labels: { plugin_name, state: "actual_state_of_world" }, value: actual },
    ];
  });
}
