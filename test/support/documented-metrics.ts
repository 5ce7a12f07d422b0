import { readFileSync } from "node:fs";
import type { Stability } from "../../src/kit/metric-text.ts";

/** A metric as Kubernetes documents it. */
export interface DocumentedMetric {
  readonly name: string;
  /** `custom` where its collector decides. */
  readonly type: "counter" | "gauge" | "histogram" | "custom";
  readonly stability: Stability;
  readonly labels: readonly string[];
  /** Path that it is served at. */
  readonly endpoint: string;
  readonly buckets: readonly number[];
  /** The release has it no more. */
  readonly isRemoved: boolean;
}

/** The metrics that 1.37 documents: those of 1.36, with what 1.37 adds, describes otherwise or removed. */
export function documentedMetrics(): readonly DocumentedMetric[] {
  const rows = ["1.36", "1.37"].flatMap((release) => {
    const path = `../../src/api/metrics/testdata/metrics-${release}.tsv`;
    return parseDocumented(readFileSync(new URL(path, import.meta.url), "utf8"));
  });
  const byName = new Map(rows.map((row) => [row.name, row]));
  return [...byName.values()].filter(({ isRemoved }) => !isRemoved);
}

/** The rows of the documented list: name, type, stability, labels, constant labels, endpoints, buckets, state, tab-separated. */
function parseDocumented(text: string): readonly DocumentedMetric[] {
  const [, ...rows] = text.trimEnd().split("\n");
  return rows.map((row) => {
    const [name = "", type = "", stability = "", labels = "", , endpoint = "", ...rest] =
      row.split("\t");
    const [buckets = "", state = ""] = rest;
    return {
      name,
      type: type.toLowerCase() as DocumentedMetric["type"],
      stability: stability as Stability,
      labels: labels.split(",").filter((label) => label !== ""),
      endpoint,
      buckets: buckets.split(" ").filter(Boolean).map(Number),
      isRemoved: state === "removed",
    };
  });
}
