// pure

import type { GroupFigures, Measurement } from "../../api/figures/figures.ts";
import { METRICS } from "../../api/metrics/metrics.ts";
import {
  exposeFamilies,
  type Labels,
  type MetricFamily,
  type Sample,
} from "../../kit/metric-text.ts";

const NANOS = 1e9;

interface Row {
  readonly labels: Labels;
  readonly group: GroupFigures;
}

/** `/metrics/resource`, what metrics-server scrapes (collectors/resource_metrics.go). */
export function resourcePage({ node, pods }: Measurement, showHidden = false): string {
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
    { ...METRICS.container_start_time_seconds, samples: starts },
    {
      ...METRICS.container_swap_limit_bytes,
      samples: samples(containers, ({ swap }) => swap?.limitBytes),
    },
    ...usage("node", root),
    ...usage("pod", podRows),
    { ...METRICS.resource_scrape_error, samples: [{ value: 0 }] },
    ...(showHidden ? [{ ...METRICS.scrape_error, samples: [{ value: 0 }] }] : []),
  ]);
}

function usage(of: "container" | "node" | "pod", rows: readonly Row[]): readonly MetricFamily[] {
  return [
    {
      ...METRICS[`${of}_cpu_usage_seconds_total`],
      samples: samples(rows, ({ cpu }) => cpu && cpu.usageNanos / NANOS),
    },
    {
      ...METRICS[`${of}_memory_working_set_bytes`],
      samples: samples(rows, ({ memory }) => memory?.workingSetBytes),
    },
    {
      ...METRICS[`${of}_swap_usage_bytes`],
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
