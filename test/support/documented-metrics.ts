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
}

/** The rows of the documented list: name, type, stability, labels, constant labels, endpoints, buckets, tab-separated. */
export function parseDocumented(text: string): readonly DocumentedMetric[] {
  const [, ...rows] = text.trimEnd().split("\n");
  return rows.map((row) => {
    const [name = "", type = "", stability = "", labels = "", , endpoint = "", buckets = ""] =
      row.split("\t");
    return {
      name,
      type: type.toLowerCase() as DocumentedMetric["type"],
      stability: stability as Stability,
      labels: labels.split(",").filter((label) => label !== ""),
      endpoint,
      buckets: buckets.split(" ").filter(Boolean).map(Number),
    };
  });
}
