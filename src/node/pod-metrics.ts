import { qosClassOf } from "../api/qos.ts";
import type { MetricsRegistry } from "../kit/metrics.ts";
import type { Pipeline } from "../pipeline/pipeline.ts";

/** Counts pods by life and by quality of service. */
export function exposePods(metrics: MetricsRegistry, { pods }: Pipeline): void {
  metrics.collected(
    { name: "kubelet_desired_pods", help: "Pods the agent knows, by life.", type: "gauge" },
    () => {
      const lives = new Map<string, number>();
      for (const { life } of pods.list()) lives.set(life.kind, (lives.get(life.kind) ?? 0) + 1);
      return [...lives].map(([life, value]) => ({ labels: { life }, value }));
    },
  );
  metrics.collected(
    { name: "nodelet_pods_by_qos", help: "Pods by quality of service.", type: "gauge" },
    () => {
      const classes = new Map<string, number>();
      for (const { pod } of pods.list())
        classes.set(qosClassOf(pod), (classes.get(qosClassOf(pod)) ?? 0) + 1);
      return [...classes].map(([qos, value]) => ({ labels: { qos_class: qos }, value }));
    },
  );
}
