// pure
import type { MetricOptions, Stability } from "../../kit/metric-text.ts";

/** A metric of the catalogue. */
interface DefinedMetric<L extends string = string> extends MetricOptions<L> {
  readonly type: "counter" | "gauge" | "histogram";
  readonly stability: Stability;
  readonly labels: readonly L[];
}

type Unnamed<L extends string> = Omit<DefinedMetric<L>, "name">;

/** A counter: its stability, its help, its labels. */
export function counterOf<const L extends string = never>(
  stability: Stability,
  help: string,
  labels: readonly L[] = [],
): Unnamed<L> & { readonly type: "counter" } {
  return { type: "counter", stability, help, labels };
}

/** A gauge: its stability, its help, its labels. */
export function gaugeOf<const L extends string = never>(
  stability: Stability,
  help: string,
  labels: readonly L[] = [],
): Unnamed<L> & { readonly type: "gauge" } {
  return { type: "gauge", stability, help, labels };
}

/** A histogram: its stability, its help, its bounds, its labels. */
export function histogramOf<const L extends string = never>(
  stability: Stability,
  help: string,
  buckets: readonly number[],
  labels: readonly L[] = [],
): Unnamed<L> & { readonly type: "histogram"; readonly buckets: readonly number[] } {
  return { type: "histogram", stability, help, labels, buckets };
}

/** The same metrics, each with its key as its name. */
export function named<T extends Record<string, Omit<DefinedMetric, "name">>>(
  metrics: T,
): { readonly [K in keyof T & string]: T[K] & { readonly name: K } } {
  const entries = Object.entries(metrics).map(([name, metric]) => [name, { ...metric, name }]);
  return Object.fromEntries(entries) as { [K in keyof T & string]: T[K] & { readonly name: K } };
}

/** Bounds that Go's client uses where none are given, in seconds. */
export const DEFAULT_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

/** `count` bounds, each so many times the one before (prometheus.ExponentialBuckets). */
export function exponential(first: number, factor: number, count: number): readonly number[] {
  const bounds: number[] = [];
  for (let bound = first; bounds.length < count; bound *= factor) bounds.push(bound);
  return bounds;
}
