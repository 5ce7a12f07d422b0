import { InvariantError } from "./errors.ts";
import {
  escapeHelp,
  formatFloat,
  formatLabels,
  type Labels,
  type MetricOptions,
  type Sample,
} from "./metric-text.ts";

export type { Labels, MetricOptions, Sample } from "./metric-text.ts";

/** A value that only rises. */
export interface Counter {
  add(labels?: Labels, by?: number): void;
}

/** A value that rises and falls. */
export interface Gauge {
  set(value: number, labels?: Labels): void;
  remove(labels: Labels): void;
}

/** Observations counted by size. */
export interface Histogram {
  /** Observes a value in the unit of the metric's name. */
  observe(value: number, labels?: Labels): void;
  /** One combination of labels, for who observes it often; not to be used any more once it is removed. */
  series(labels: Labels): HistogramSeries;
  remove(labels: Labels): void;
}

/** Observations of one combination of labels. */
export interface HistogramSeries {
  observe(value: number): void;
}

/** Most label combinations one metric may hold; what comes after is dropped and counted (CVE-2020-8551). */
const SERIES_LIMIT = 10_000;

type MetricType = "counter" | "gauge" | "histogram";

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  readonly lines: (write: LineWriter) => void;
}

type LineWriter = (
  suffix: string,
  labels: Labels | undefined,
  value: number,
  timestampMs?: number,
) => void;

/** Buckets of the Go kubelet for latencies of whole operations, in seconds. */
export const DEFAULT_BUCKETS_SECONDS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
] as const;

/**
 * Metrics of this process, exposed in the Prometheus text format 0.0.4. Our own because the page must
 * carry timestamps and float spellings as Go's client writes them (docs/adr/0006).
 */
export class MetricsRegistry {
  readonly #families = new Map<string, Family>();
  #dropped = 0;

  counter(options: MetricOptions): Counter {
    const series = this.#family(options, "counter");
    return {
      add: (labels = {}, by = 1) => {
        const entry = series.at(labels);
        if (entry) entry.value += by;
      },
    };
  }

  gauge(options: MetricOptions): Gauge {
    const series = this.#family(options, "gauge");
    return {
      set: (value, labels = {}) => {
        const entry = series.at(labels);
        if (entry) entry.value = value;
      },
      remove: (labels) => series.remove(labels),
    };
  }

  histogram(options: MetricOptions & { readonly buckets?: readonly number[] }): Histogram {
    const bounds = options.buckets ?? DEFAULT_BUCKETS_SECONDS;
    const series = new SeriesMap<HistogramEntry>(
      () => ({ counts: new Array<number>(bounds.length).fill(0), sum: 0, count: 0 }),
      () => {
        this.#dropped += 1;
      },
    );
    this.#register({
      ...options,
      type: "histogram",
      lines: (write) => {
        for (const [labels, entry] of series.entries()) {
          bounds.forEach((bound, i) => {
            write("_bucket", { ...labels, le: formatFloat(bound) }, entry.counts[i] ?? 0);
          });
          write("_bucket", { ...labels, le: "+Inf" }, entry.count);
          write("_sum", labels, entry.sum);
          write("_count", labels, entry.count);
        }
      },
    });
    const count = (entry: HistogramEntry, value: number) => {
      entry.sum += value;
      entry.count += 1;
      // Bounds rise, and a value counts for all that are not below it.
      for (let i = bounds.length - 1; i >= 0 && value <= (bounds[i] ?? 0); i -= 1)
        entry.counts[i] = (entry.counts[i] ?? 0) + 1;
    };
    return {
      observe: (value, labels = {}) => {
        const entry = series.at(labels);
        if (entry) count(entry, value);
      },
      series: (labels) => {
        let entry: HistogramEntry | undefined;
        return {
          observe: (value) => {
            entry ??= series.at(labels);
            if (entry) count(entry, value);
          },
        };
      },
      remove: (labels) => series.remove(labels),
    };
  }

  /** A family whose samples are computed when the page is read. */
  collected(
    options: MetricOptions & { readonly type: "counter" | "gauge" },
    collect: () => Iterable<Sample>,
  ): void {
    this.#register({
      ...options,
      lines: (write) => {
        for (const sample of collect()) write("", sample.labels, sample.value, sample.timestampMs);
      },
    });
  }

  /** The whole page in the text format, families sorted by name. */
  expose(): string {
    let text = "";
    for (const family of [...this.#families.values()].sort((a, b) => (a.name < b.name ? -1 : 1))) {
      let body = "";
      family.lines((suffix, labels, value, timestampMs) => {
        const at = timestampMs === undefined ? "" : ` ${timestampMs}`;
        body += `${family.name}${suffix}${formatLabels(labels)} ${formatFloat(value)}${at}\n`;
      });
      if (body === "") continue;
      text += `# HELP ${family.name} ${escapeHelp(family.help)}\n# TYPE ${family.name} ${family.type}\n${body}`;
    }
    return `${text}# HELP nodelet_metric_series_dropped_total Label combinations refused because a metric was full.\n# TYPE nodelet_metric_series_dropped_total counter\nnodelet_metric_series_dropped_total ${this.#dropped}\n`;
  }

  #family(options: MetricOptions, type: "counter" | "gauge"): SeriesMap<{ value: number }> {
    const series = new SeriesMap(
      () => ({ value: 0 }),
      () => {
        this.#dropped += 1;
      },
    );
    this.#register({
      ...options,
      type,
      lines: (write) => {
        for (const [labels, entry] of series.entries()) write("", labels, entry.value);
      },
    });
    return series;
  }

  #register(family: Family): void {
    if (this.#families.has(family.name))
      throw new InvariantError(`metric ${family.name} is registered twice`);
    this.#families.set(family.name, family);
  }
}

interface HistogramEntry {
  /** Of values up to each bound. */
  readonly counts: number[];
  sum: number;
  count: number;
}

class SeriesMap<E> {
  readonly #create: () => E;
  readonly #onDrop: () => void;
  readonly #series = new Map<string, { readonly labels: Labels; readonly entry: E }>();

  constructor(create: () => E, onDrop: () => void) {
    this.#create = create;
    this.#onDrop = onDrop;
  }

  at(labels: Labels): E | undefined {
    const key = keyOf(labels);
    const found = this.#series.get(key);
    if (found) return found.entry;
    if (this.#series.size >= SERIES_LIMIT) {
      this.#onDrop();
      return undefined;
    }
    const entry = this.#create();
    this.#series.set(key, { labels, entry });
    return entry;
  }

  remove(labels: Labels): void {
    this.#series.delete(keyOf(labels));
  }

  *entries(): Iterable<readonly [Labels, E]> {
    for (const { labels, entry } of this.#series.values()) yield [labels, entry];
  }
}

function keyOf(labels: Labels): string {
  let key = "";
  for (const name of Object.keys(labels).sort()) key += `${name}\u0000${labels[name]}\u0000`;
  return key;
}
