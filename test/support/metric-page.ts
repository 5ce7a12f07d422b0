// Reading a page of metrics in Prometheus' text format.

/** One sample of a page. */
export interface PageSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A metric of a page, with the names of the labels that its samples have. */
export interface PageMetric {
  readonly type: string;
  readonly help: string;
  readonly labels: ReadonlySet<string>;
  /** Upper bounds of a histogram but the last, infinite one. */
  readonly buckets: readonly number[];
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** Every sample of a page; a line that is none throws. */
export function parseSamples(page: string): readonly PageSample[] {
  return page
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [, name = "", labels = "", value = ""] = SAMPLE.exec(line) ?? [];
      if (name === "") throw new Error(`no sample: ${line}`);
      const pairs = [...labels.matchAll(LABEL)].map(([, key = "", text = ""]) => [key, text]);
      return {
        name,
        labels: Object.fromEntries(pairs),
        value: Number(value.replace("Inf", "Infinity")),
      };
    });
}

/** Every metric of a page by name, those without samples included. */
export function parseMetrics(page: string): ReadonlyMap<string, PageMetric> {
  const found = new Map<string, PageMetric & { labels: Set<string>; buckets: number[] }>();
  for (const [, name = "", help = "", type = ""] of page.matchAll(
    /^# HELP (\S+) (.*)\n# TYPE \1 (\S+)$/gm,
  ))
    found.set(name, { type, help, labels: new Set(), buckets: [] });
  for (const { name, labels } of parseSamples(page)) {
    const metric = found.get(name) ?? found.get(name.replace(/_(bucket|sum|count)$/, ""));
    if (!metric) throw new Error(`${name} has no type`);
    for (const [label, value] of Object.entries(labels)) {
      if (label !== "le" || metric.type !== "histogram") metric.labels.add(label);
      else if (value !== "+Inf" && !metric.buckets.includes(Number(value)))
        metric.buckets.push(Number(value));
    }
  }
  return found;
}
