// pure

import type {
  GroupFigures,
  InterfaceFigures,
  Measurement,
  ProcessFigures,
} from "../../api/figures/figures.ts";
import type { WallMs } from "../../kit/clock.ts";
import {
  formatFloat,
  type Labels,
  labelPairs,
  type SeriesText,
  seriesText,
  type WrittenFamily,
} from "../../kit/metric-text.ts";

/** What has one series in each of several families. */
interface SeriesRow {
  readonly series: SeriesText;
}

/** One group with the labels of all its metrics. */
export interface MetricRow extends SeriesRow {
  readonly labels: Labels;
  readonly group: GroupFigures;
  readonly startedAtMs: WallMs | undefined;
  readonly network: readonly InterfaceFigures[];
  readonly processes?: ProcessFigures;
}

/** Every group that was measured, with the labels that cAdvisor gives it. */
export function rowsOf({ node, pods }: Measurement): readonly MetricRow[] {
  const labelled = (group: GroupFigures, id: string, more: Labels = {}) => {
    const none = { container: "", id, image: "", name: "", namespace: "", pod: "" };
    const labels: Labels = { ...none, ...more };
    return { labels, group, series: seriesText(labels, group.atMs) };
  };
  const quiet = { startedAtMs: node.bootedAtMs, network: [] };
  const root: MetricRow = {
    ...labelled(node.group, "/"),
    startedAtMs: node.bootedAtMs,
    network: node.network,
  };
  const groups = node.groups.map(
    ({ path, group }): MetricRow => ({ ...quiet, ...labelled(group, path) }),
  );
  const ofPods = pods.flatMap((pod): readonly MetricRow[] => {
    const { namespace, name, path, group, network = [], containers, startedAtMs } = pod;
    const own = { namespace, pod: name };
    const row = group && { ...labelled(group, path, own), startedAtMs, network };
    const below = containers.map((container): MetricRow => {
      const { name: title, image, id, processes } = container;
      return {
        ...labelled(container.group, container.path, { ...own, container: title, image, name: id }),
        startedAtMs: container.startedAtMs,
        network: [],
        ...(processes ? { processes } : {}),
      };
    });
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
): WrittenFamily {
  return perRow(described, rows, ({ group }) => take(group), more);
}

/** One value of each row, with the row's time. */
export function perRow<Row extends SeriesRow>(
  described: Described,
  rows: readonly Row[],
  take: (row: Row) => number | undefined,
  more: Labels = NO_LABELS,
): WrittenFamily {
  const own = labelPairs(more);
  const begin = `${described.name}{`;
  const close = own === "" ? "} " : `,${own}} `;
  let lines = "";
  for (const row of rows) {
    const value = take(row);
    if (value === undefined) continue;
    lines += `${begin}${row.series.labels}${close}${formatFloat(value)}${row.series.end}`;
  }
  return { ...described, lines };
}

const NO_LABELS: Labels = {};

/** A family whose values only rise. */
export const counter = (name: string, help: string): Described => ({ name, help, type: "counter" });
/** A family whose values rise and fall. */
export const gauge = (name: string, help: string): Described => ({ name, help, type: "gauge" });
