/** Metrics about the agent itself: release, feature gates, registered metrics. */
import { METRICS } from "../api/metrics/metrics.ts";
import type { FeatureGates } from "../config/gates/feature-gates.ts";
import type { MetricsRegistry, Sample } from "../kit/metrics.ts";
import type { OwnProcess } from "../outside/serving.ts";

interface AgentMetricsDeps {
  readonly metrics: MetricsRegistry;
  /** Every registry whose page is served. */
  readonly registries: readonly MetricsRegistry[];
  /** Release of Kubernetes that is followed, `v1.36.2`. */
  readonly kubernetesVersion: string;
  readonly nodeletVersion: string;
  readonly gates: FeatureGates;
  readonly process: Pick<OwnProcess, "engine">;
  /** Of the processor, in Node's words. */
  readonly architecture: string;
  /** Whether deprecated metrics are shown (`showHiddenMetricsForVersion`). */
  readonly showHidden: boolean;
}

/** Registers the metrics. */
export function exposeAgent(deps: AgentMetricsDeps): void {
  const { metrics, gates } = deps;
  metrics.collected(METRICS.kubernetes_build_info, () => [{ value: 1, labels: buildOf(deps) }]);
  metrics.collected(METRICS.version_info, () => [{ value: 1, labels: versionsOf(deps) }]);
  metrics.collected(METRICS.kubelet_metrics_provider, () => [
    { value: 1, labels: { provider: "kernel" } },
  ]);
  metrics.collected(METRICS.kubernetes_feature_enabled, () =>
    gates.all.map(({ gate: { name, stage }, enabled }) => ({
      labels: { name, stage: stage === "GA" ? "" : stage.toUpperCase() },
      value: enabled ? 1 : 0,
    })),
  );
  metrics.collected(METRICS.registered_metrics_total, () => countRegistered(deps.registries));
  // There is no option that switches a metric off.
  metrics.counter(METRICS.disabled_metrics_total);
  const deprecated = Object.values(METRICS).filter((metric) => "deprecatedVersion" in metric);
  metrics.counter(METRICS.hidden_metrics_total).add({}, deps.showHidden ? 0 : deprecated.length);
}

/** Go's words for processors, by Node's. */
const GO_ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386" };

function majorMinor({ kubernetesVersion }: AgentMetricsDeps): readonly [string, string] {
  const [major = "", minor = ""] = kubernetesVersion.replace(/^v/, "").split(".");
  return [major, minor];
}

function buildOf(deps: AgentMetricsDeps): Readonly<Record<string, string>> {
  const [major, minor] = majorMinor(deps);
  return {
    major,
    minor,
    git_version: `${deps.kubernetesVersion}+nodelet.${deps.nodeletVersion}`,
    git_commit: "",
    git_tree_state: "",
    build_date: "",
    go_version: deps.process.engine,
    compiler: "v8",
    platform: `linux/${GO_ARCHITECTURES[deps.architecture] ?? deps.architecture}`,
  };
}

function versionsOf(deps: AgentMetricsDeps): Readonly<Record<string, string>> {
  const [major, minor] = majorMinor(deps);
  const followed = `${major}.${minor}`;
  return {
    component: "kubelet",
    binary: followed,
    emulation: followed,
    min_compat: `${major}.${Number(minor) - 1}`,
  };
}

function countRegistered(registries: readonly MetricsRegistry[]): readonly Sample[] {
  const counts = new Map<string, { labels: Record<string, string>; value: number }>();
  for (const registry of registries)
    for (const { stability = "INTERNAL", deprecatedVersion = "" } of registry.registered()) {
      const key = `${stability} ${deprecatedVersion}`;
      const labels = { stability_level: stability, deprecated_version: deprecatedVersion };
      const count = counts.get(key) ?? { labels, value: 0 };
      counts.set(key, count);
      count.value += 1;
    }
  return [...counts.values()];
}
