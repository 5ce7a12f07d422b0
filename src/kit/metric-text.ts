// pure

/** Label names and values of one series. */
export type Labels = Readonly<Record<string, string>>;

/** One exposed value; `timestampMs` (Unix) only where the value was measured at another time than now. */
export interface Sample {
  readonly value: number;
  readonly labels?: Labels;
  readonly timestampMs?: number;
}

/** Name and meaning of a metric, as the page shows them. */
export interface MetricOptions {
  readonly name: string;
  readonly help: string;
}

/** A metric whose samples are at hand. */
export interface MetricFamily extends MetricOptions {
  readonly type: "counter" | "gauge";
  readonly samples: readonly Sample[];
}

/** A page of metrics in the text format, sorted by name; families without samples are left out. */
export function exposeFamilies(families: readonly MetricFamily[]): string {
  let text = "";
  for (const family of families.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const { name, help, type, samples } = family;
    if (samples.length === 0) continue;
    text += `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`;
    for (const { labels, value, timestampMs } of samples) {
      const at = timestampMs === undefined ? "" : ` ${timestampMs}`;
      text += `${name}${formatLabels(labels)} ${formatFloat(value)}${at}\n`;
    }
  }
  return text;
}

/** `{name="value",…}`; nothing without labels. */
export function formatLabels(labels: Labels | undefined): string {
  if (!labels) return "";
  const names = Object.keys(labels);
  if (names.length === 0) return "";
  return `{${names.map((name) => `${name}="${escapeLabel(labels[name] ?? "")}"`).join(",")}}`;
}

function escapeLabel(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}

/** A help text as its line may hold it. */
export function escapeHelp(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

/** A float as Go's strconv 'g' format writes it: exponent below 1e-4 and from 1e21 on, two digits at least. */
export function formatFloat(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  if (value === 0) return "0";
  const magnitude = Math.abs(value);
  if (magnitude < 1e-4 || magnitude >= 1e21) {
    const [mantissa, exponent = "0"] = value.toExponential().split("e");
    const digits = exponent.replace(/^[+-]/, "").padStart(2, "0");
    return `${mantissa}e${exponent.startsWith("-") ? "-" : "+"}${digits}`;
  }
  return String(value);
}
