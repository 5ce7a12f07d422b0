// pure
import {
  exposeFamilies,
  type Labels,
  type MetricFamily,
  type Sample,
} from "../../kit/metric-text.ts";
import type { GroupFigures, Measurement } from "./figures.ts";

const NANOS = 1e9;

interface Row {
  readonly labels: Labels;
  readonly group: GroupFigures;
}

/** `/metrics/resource`, what metrics-server scrapes (collectors/resource_metrics.go). */
export function resourcePage({ node, pods }: Measurement): string {
  const root: readonly Row[] = [{ labels: {}, group: node.group }];
  const podRows = pods.flatMap(({ name, namespace, group }): readonly Row[] =>
    group ? [{ labels: { namespace, pod: name }, group }] : [],
  );
  const containers = pods.flatMap(({ name: pod, namespace, containers: those }) =>
    those.map((one) => ({ ...one, labels: { container: one.name, namespace, pod } })),
  );
  const starts = containers.flatMap(({ labels, startedAtMs }): readonly Sample[] =>
    startedAtMs === undefined ? [] : [{ labels, value: startedAtMs / 1000 }],
  );
  return exposeFamilies([
    ...usage("container", containers),
    {
      name: "container_start_time_seconds",
      help: "[STABLE] Start time of the container since unix epoch in seconds",
      type: "gauge",
      samples: starts,
    },
    {
      name: "container_swap_limit_bytes",
      help: "[ALPHA] Current amount of the container swap limit in bytes. Reported only on non-windows systems",
      type: "gauge",
      samples: samples(containers, ({ swap }) => swap?.limitBytes),
    },
    ...usage("node", root),
    ...usage("pod", podRows),
    {
      name: "resource_scrape_error",
      help: "[STABLE] 1 if there was an error while getting container metrics, 0 otherwise",
      type: "gauge",
      samples: [{ value: 0 }],
    },
  ]);
}

function usage(of: "container" | "node" | "pod", rows: readonly Row[]): readonly MetricFamily[] {
  return [
    {
      name: `${of}_cpu_usage_seconds_total`,
      help: `[STABLE] Cumulative cpu time consumed by the ${of} in core-seconds`,
      type: "counter",
      samples: samples(rows, ({ cpu }) => cpu && cpu.usageNanos / NANOS),
    },
    {
      name: `${of}_memory_working_set_bytes`,
      help: `[STABLE] Current working set of the ${of} in bytes`,
      type: "gauge",
      samples: samples(rows, ({ memory }) => memory?.workingSetBytes),
    },
    {
      name: `${of}_swap_usage_bytes`,
      help: `[ALPHA] Current ${of === "container" ? "amount of the container swap usage" : `${of === "pod" ? "amount of the pod swap usage" : "swap usage of the node"}`} in bytes. Reported only on non-windows systems`,
      type: "gauge",
      samples: samples(rows, ({ swap }) => swap?.usageBytes),
    },
  ];
}

function samples(
  rows: readonly Row[],
  take: (group: GroupFigures) => number | undefined,
): readonly Sample[] {
  return rows.flatMap(({ labels, group }): readonly Sample[] => {
    const value = take(group);
    return value === undefined ? [] : [{ labels, value, timestampMs: group.atMs }];
  });
}
