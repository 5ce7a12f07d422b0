import { InvariantError } from "./errors.ts";
import {
  formatFloat,
  formatLabels,
  helpLine,
  type Labels,
  type LabelValues,
  type MetricOptions,
  type Sample,
} from "./metric-text.ts";

export type { Labels, LabelValues, MetricOptions, Sample, Stability } from "./metric-text.ts";

/** A value that only rises. */
export interface Counter<L extends string = string> {
  add(labels?: LabelValues<L>, by?: number): void;
}

/** A value that rises and falls. */
export interface Gauge<L extends string = string> {
  set(value: number, labels?: LabelValues<L>): void;
  remove(labels: LabelValues<L>): void;
}

/** Observations counted by size. */
export interface Histogram<L extends string = string> {
  /** Observes a value in the unit of the metric's name. */
  observe(value: number, labels?: LabelValues<L>): void;
  /** One combination of labels, for who observes it often; not to be used any more once it is removed. */
  series(labels: LabelValues<L>): HistogramSeries;
  remove(labels: LabelValues<L>): void;
}

/** Observations of one combination of labels. */
export interface HistogramSeries {
  observe(value: number): void;
}

/** Most label combinations one metric may hold; what comes after is dropped and counted (CVE-2020-8551). */
const SERIES_LIMIT = 10_000;

/** Type of a metric family. */
export type MetricType = "counter" | "gauge" | "histogram";

/** A registered metric: what it is, without its values. */
interface RegisteredMetric extends MetricOptions {
  readonly type: MetricType;
}

interface Family {
  readonly about: RegisteredMetric;
  /** The lines of its samples. */
  readonly body: () => string;
}

/** Buckets of the Go kubelet for latencies of whole operations, in seconds. */
const DEFAULT_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

/**
 * Metrics of this process, exposed in the Prometheus text format 0.0.4. Our own because the page must
 * carry timestamps and float spellings as Go's client writes them (docs/adr/0006).
 */
export class MetricsRegistry {
  readonly #families = new Map<string, Family>();
  #sorted: readonly Family[] | undefined;
  #dropped = 0;

  counter<L extends string = string>(options: MetricOptions<L>): Counter<L> {
    const series = this.#values(options, "counter");
    return {
      add: (labels, by = 1) => {
        const entry = series.at(labels ?? {});
        if (entry) entry.value += by;
      },
    };
  }

  gauge<L extends string = string>(options: MetricOptions<L>): Gauge<L> {
    const series = this.#values(options, "gauge");
    return {
      set: (value, labels) => {
        const entry = series.at(labels ?? {});
        if (entry) entry.value = value;
      },
      remove: (labels) => series.remove(labels),
    };
  }

  histogram<L extends string = string>(options: MetricOptions<L>): Histogram<L> {
    const { name, buckets: bounds = DEFAULT_BUCKETS_SECONDS } = options;
    const starts = bounds.map((bound) => `le="${formatFloat(bound)}"} `);
    const series = new SeriesMap(
      options,
      (): HistogramEntry => ({ counts: bounds.map(() => 0), sum: 0, count: 0 }),
      () => this.#drop(),
    );
    this.#register({ ...options, type: "histogram" }, () => {
      let text = "";
      for (const { label, inner, entry } of series.all()) {
        const start = `${name}_bucket{${inner === "" ? "" : `${inner},`}`;
        let below = 0;
        for (let i = 0; i < starts.length; i += 1) {
          below += entry.counts[i] ?? 0;
          text += `${start}${starts[i]}${below}\n`;
        }
        text += `${start}le="+Inf"} ${entry.count}\n${name}_sum${label} ${formatFloat(entry.sum)}\n${name}_count${label} ${entry.count}\n`;
      }
      return text;
    });
    const count = (entry: HistogramEntry, value: number) => {
      entry.sum += value;
      entry.count += 1;
      for (let at = 0; at < bounds.length; at += 1)
        if (value <= (bounds[at] ?? 0)) {
          entry.counts[at] = (entry.counts[at] ?? 0) + 1;
          return;
        }
    };
    return {
      observe: (value, labels) => {
        const entry = series.at(labels ?? {});
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
    const names = options.labels && [...options.labels].sort();
    this.#register(options, () => {
      let text = "";
      for (const { labels, value, timestampMs } of collect())
        text += `${options.name}${formatLabels(labels, names)} ${formatFloat(value)}${timestampMs === undefined ? "" : ` ${Math.trunc(timestampMs)}`}\n`;
      return text;
    });
  }

  /** Every metric that is registered, sorted by name. */
  registered(): readonly RegisteredMetric[] {
    return this.#ordered().map(({ about }) => about);
  }

  /**
   * The whole page in the text format, families sorted by name. One that has no samples yet is named all the same if
   * it is one of Kubernetes' own, so that the page says what can be expected.
   */
  expose(): string {
    let text = "";
    for (const { about, body } of this.#ordered()) {
      const samples = body();
      if (samples === "" && about.stability === undefined) continue;
      text += `# HELP ${about.name} ${helpLine(about)}\n# TYPE ${about.name} ${about.type}\n${samples}`;
    }
    return `${text}# HELP nodelet_metric_series_dropped_total Label combinations refused because a metric was full.\n# TYPE nodelet_metric_series_dropped_total counter\nnodelet_metric_series_dropped_total ${this.#dropped}\n`;
  }

  #ordered(): readonly Family[] {
    this.#sorted ??= [...this.#families.values()].sort((a, b) =>
      a.about.name < b.about.name ? -1 : 1,
    );
    return this.#sorted;
  }

  #values(options: MetricOptions, type: "counter" | "gauge"): SeriesMap<{ value: number }> {
    const series = new SeriesMap(
      options,
      () => ({ value: 0 }),
      () => this.#drop(),
    );
    this.#register({ ...options, type }, () => {
      let text = "";
      for (const { label, entry } of series.all())
        text += `${options.name}${label} ${formatFloat(entry.value)}\n`;
      return text;
    });
    return series;
  }

  #drop(): void {
    this.#dropped += 1;
  }

  #register(about: RegisteredMetric, body: () => string): void {
    if (this.#families.has(about.name))
      throw new InvariantError(`metric ${about.name} is registered twice`);
    this.#families.set(about.name, { about, body });
    this.#sorted = undefined;
  }
}

interface HistogramEntry {
  /** Of values above the bound before and up to each bound. */
  readonly counts: number[];
  sum: number;
  count: number;
}

interface Series<E> {
  /** `{name="value"}`, or nothing. */
  readonly label: string;
  /** The same without braces. */
  readonly inner: string;
  readonly entry: E;
}

/** The series of one metric by the values of its labels; their text is made once. */
class SeriesMap<E> {
  readonly #names: readonly string[] | undefined;
  readonly #create: () => E;
  readonly #onDrop: () => void;
  readonly #series = new Map<string, Series<E>>();

  constructor({ labels: names }: MetricOptions, create: () => E, onDrop: () => void) {
    this.#names = names && [...names].sort();
    this.#create = create;
    this.#onDrop = onDrop;
    if (names?.length === 0) this.at({});
  }

  at(labels: Labels): E | undefined {
    const key = this.#keyOf(labels);
    const found = this.#series.get(key);
    if (found) return found.entry;
    if (this.#series.size >= SERIES_LIMIT) {
      this.#onDrop();
      return undefined;
    }
    const entry = this.#create();
    const label = formatLabels(labels, this.#names);
    this.#series.set(key, { label, inner: label.slice(1, -1), entry });
    return entry;
  }

  remove(labels: Labels): void {
    this.#series.delete(this.#keyOf(labels));
  }

  all(): Iterable<Series<E>> {
    return this.#series.values();
  }

  #keyOf(labels: Labels): string {
    // Most metrics have one label or none: no text is made for them.
    if (this.#names && this.#names.length <= 1) return labels[this.#names[0] ?? ""] ?? "";
    let key = "";
    if (this.#names) for (const name of this.#names) key += `${labels[name]}\u0000`;
    else for (const name of Object.keys(labels).sort()) key += `${name}\u0000${labels[name]}\u0000`;
    return key;
  }
}
