// pure
import { METRICS, UNSERVED_METRICS } from "./metrics.ts";

/** Files that count and test a metric: paths below the repository. */
interface MetricPlaces {
  readonly servedBy: (name: string) => readonly string[];
  readonly tests: (name: string) => readonly string[];
}

/** `document` with the table of metrics brought up to date, between its markers. */
export function withMetricTable(document: string, places: MetricPlaces): string {
  return document.replace(
    /(<!-- begin metrics -->\n)[\s\S]*?(<!-- end metrics -->)/,
    (_, begin: string, end: string) => `${begin}${renderTable(places)}${end}`,
  );
}

function renderTable({ servedBy, tests }: MetricPlaces): string {
  const served = Object.values(METRICS).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const rows = served.map(({ name, type, stability, labels }) =>
    row([
      `\`${name}\``,
      type,
      stability,
      labels.map((label) => `\`${label}\``).join(" "),
      servedBy(name).map(shortPath).join(" "),
      tests(name).map(shortPath).join(" "),
    ]),
  );
  const unserved = Object.entries(UNSERVED_METRICS).map(([name, why]) => row([`\`${name}\``, why]));
  const total = served.length + unserved.length;
  return [
    `${served.length} of ${total} documented metrics are served.\n\n`,
    row(["metric", "type", "stability", "labels", "served by", "tested by"]),
    row(["---", "---", "---", "---", "---", "---"]),
    ...rows,
    "\n",
    row(["not served", "why"]),
    row(["---", "---"]),
    ...unserved,
  ].join("");
}

const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |\n`;
const shortPath = (path: string): string => `\`${path.replace(/^src\//, "")}\``;
