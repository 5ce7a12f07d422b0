// pure
import type { WallMs } from "../../kit/clock.ts";
import type { Labels, MetricFamily, Sample } from "../../kit/metric-text.ts";
import type { GroupFigures, InterfaceFigures, Measurement, ProcessFigures } from "./figures.ts";

/** One group with the labels of all its metrics. */
export interface MetricRow {
  readonly labels: Labels;
  readonly group: GroupFigures;
  readonly startedAtMs: WallMs | undefined;
  readonly network: readonly InterfaceFigures[];
  readonly processes?: ProcessFigures;
}

/** Every group that was measured, with the labels that cAdvisor gives it. */
export function rowsOf({ node, pods }: Measurement): readonly MetricRow[] {
  const labels = (id: string, more: Labels = {}): Labels => ({
    container: "",
    id,
    image: "",
    name: "",
    namespace: "",
    pod: "",
    ...more,
  });
  const quiet = { startedAtMs: node.bootedAtMs, network: [] };
  const root: MetricRow = {
    labels: labels("/"),
    group: node.group,
    startedAtMs: node.bootedAtMs,
    network: node.network,
  };
  const groups = node.groups.map(
    ({ path, group }): MetricRow => ({
      ...quiet,
      labels: labels(path),
      group,
    }),
  );
  const ofPods = pods.flatMap((pod): readonly MetricRow[] => {
    const { namespace, name, path, group, network: interfaces = [], containers } = pod;
    const own = { namespace, pod: name };
    const { startedAtMs } = pod;
    const row = group && { labels: labels(path, own), group, startedAtMs, network: interfaces };
    const below = containers.map(
      (container): MetricRow => ({
        ...container,
        labels: labels(container.path, {
          ...own,
          container: container.name,
          image: container.image,
          name: container.id,
        }),
        network: [],
      }),
    );
    return row ? [row, ...below] : below;
  });
  return [root, ...groups, ...ofPods];
}

/** Name and meaning of a family. */
export interface Described {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge";
}

/** One value of each group. */
export function perGroup(
  described: Described,
  rows: readonly MetricRow[],
  take: (group: GroupFigures) => number | undefined,
  more: Labels = NO_LABELS,
): MetricFamily {
  return perRow(described, rows, ({ group }) => take(group), more);
}

/** One value of each row, with the time of its group. */
export function perRow(
  described: Described,
  rows: readonly MetricRow[],
  take: (row: MetricRow) => number | undefined,
  labels: Labels = NO_LABELS,
): MetricFamily {
  const samples: Sample[] = [];
  for (const row of rows) {
    const value = take(row);
    if (value === undefined) continue;
    samples.push({ base: row.labels, labels, value, timestampMs: row.group.atMs });
  }
  return { ...described, samples };
}

const NO_LABELS: Labels = {};

/** A family whose values only rise. */
export const counter = (name: string, help: string): Described => ({ name, help, type: "counter" });
/** A family whose values rise and fall. */
export const gauge = (name: string, help: string): Described => ({ name, help, type: "gauge" });
