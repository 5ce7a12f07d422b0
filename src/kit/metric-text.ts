// pure

/** Label names and values of one series. */
export type Labels = Readonly<Record<string, string>>;

/** One exposed value; `timestampMs` (Unix) only where the value was measured at another time than now. */
export interface Sample {
  readonly value: number;
  /** In front of `labels`; one object for many samples, whose text is then made once. */
  readonly base?: Labels;
  readonly labels?: Labels;
  readonly timestampMs?: number;
}

/** How far a metric can be relied on (component-base): as Kubernetes' own metrics say it in front of their help. */
export type Stability = "INTERNAL" | "ALPHA" | "BETA" | "STABLE";

/** Name and meaning of a metric, as the page shows them. */
export interface MetricOptions<L extends string = string> {
  readonly name: string;
  readonly help: string;
  /** Shown in front of the help. */
  readonly stability?: Stability;
  /** Names of its labels. A metric without any shows its value from the start, as Go's clients do. */
  readonly labels?: readonly L[];
  /** Upper bounds of a histogram, ascending. */
  readonly buckets?: readonly number[];
  /** The release of Kubernetes that has deprecated it, e.g. `1.29.0`. */
  readonly deprecatedVersion?: string;
}

/** A value for each label. */
export type LabelValues<L extends string> = Readonly<Record<L, string>>;

/** A metric whose samples are at hand. */
export interface MetricFamily extends MetricOptions {
  readonly type: "counter" | "gauge";
  readonly samples: readonly Sample[];
}

/** A metric whose samples are written already: of many series in many families, the text of each is made once. */
export interface WrittenFamily extends MetricOptions {
  readonly type: "counter" | "gauge";
  /** Empty without samples. */
  readonly lines: string;
}

/** What stands in every line of a series: its labels, of which there is one at least, and its time with the newline. */
export interface SeriesText {
  readonly labels: string;
  readonly end: string;
}

/** The text of a series; without a time it is measured as the page is read. */
export function seriesText(labels: Labels, timestampMs?: number): SeriesText {
  const end = timestampMs === undefined ? "\n" : ` ${Math.trunc(timestampMs)}\n`;
  return { labels: labelPairs(labels), end };
}

/** A page of metrics in the text format, sorted by name; families without samples are left out, but for those of Kubernetes' own. */
export function exposeFamilies(families: readonly (MetricFamily | WrittenFamily)[]): string {
  const parts: string[] = [];
  const ends = new LineEnds();
  for (const family of families.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const { name, type } = family;
    const lines = "lines" in family ? family.lines : samplesText(family, ends);
    if (lines === "" && family.stability === undefined) continue;
    parts.push(`# HELP ${name} ${helpLine(family)}\n# TYPE ${name} ${type}\n`, lines);
  }
  return parts.join("");
}

function samplesText({ name, samples }: MetricFamily, ends: LineEnds): string {
  let text = "";
  for (const sample of samples)
    text += `${name}${ends.labelsOf(sample)}${formatFloat(sample.value)}${ends.timeOf(sample)}`;
  return text;
}

/** Text that many lines of a page share, made once: the labels of a group, the time at which it was measured. */
class LineEnds {
  readonly #bases = new Map<Labels | undefined, string>();
  /** The labels before, which are often those of a whole family, and their text. */
  #labels: Labels | undefined;
  #own = "";
  #timestampMs: number | undefined;
  #time = "\n";

  /** With the blank after it. */
  labelsOf({ base, labels }: Sample): string {
    if (labels !== this.#labels) {
      this.#labels = labels;
      this.#own = labels ? labelPairs(labels) : "";
    }
    const known = this.#bases.get(base);
    const shared = known ?? (base ? labelPairs(base) : "");
    if (known === undefined) this.#bases.set(base, shared);
    const own = this.#own;
    if (own === "") return shared === "" ? " " : `{${shared}} `;
    return shared === "" ? `{${own}} ` : `{${shared},${own}} `;
  }

  /** With the newline. */
  timeOf({ timestampMs }: Sample): string {
    if (timestampMs !== this.#timestampMs) {
      this.#timestampMs = timestampMs;
      this.#time = timestampMs === undefined ? "\n" : ` ${Math.trunc(timestampMs)}\n`;
    }
    return this.#time;
  }
}

/** `{name="value",…}` of these names, or of all in their order; nothing without labels. */
export function formatLabels(
  labels: Labels | undefined,
  names: readonly string[] = Object.keys(labels ?? {}),
): string {
  if (!labels) return "";
  if (names.length === 0) return "";
  return `{${labelPairs(labels, names)}}`;
}

/** `name="value",…` of these names, or of all in their order. */
export function labelPairs(labels: Labels, names: readonly string[] = Object.keys(labels)): string {
  return names.map((name) => `${name}="${escapeLabel(labels[name] ?? "")}"`).join(",");
}

function escapeLabel(value: string): string {
  if (!/["\\\n]/.test(value)) return value;
  return value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}

/** The help of a metric as its line may hold it, with the stability in front. */
export function helpLine({ help, stability }: Pick<MetricOptions, "help" | "stability">): string {
  const text = help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  return stability === undefined ? text : `[${stability}] ${text}`;
}

/** A float as Go's strconv 'g' format writes it: exponent below 1e-4 and from 1e21 on, two digits at least. */
export function formatFloat(value: number): string {
  if (Number.isSafeInteger(value)) return `${value}`;
  if (Number.isNaN(value)) return "NaN";
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  const magnitude = Math.abs(value);
  if (magnitude < 1e-4 || magnitude >= 1e21) {
    const [mantissa, exponent = "0"] = value.toExponential().split("e");
    const digits = exponent.replace(/^[+-]/, "").padStart(2, "0");
    return `${mantissa}e${exponent.startsWith("-") ? "-" : "+"}${digits}`;
  }
  return String(value);
}
