// pure
import { appendAll, largest } from "../kit/limits/lists.ts";
import type { CgroupsReport, ReportedGroup, ReportedValue } from "../subsystems/cgroups/cgroups.ts";
import { counted, oneLine, type Paint, padText } from "./text.ts";

/** A value that a repair has written. */
export interface Written {
  readonly path: string;
  readonly file: string;
  readonly found?: string;
  readonly wanted: string;
}

/** How the groups are shown. */
interface CgroupView {
  readonly onlyDifferences: boolean;
  readonly written: readonly Written[];
  readonly paint: Paint;
}

/** The live tree, with what each value should be where it is something else. */
export function renderCgroups(report: CgroupsReport, view: CgroupView): readonly string[] {
  const { paint, onlyDifferences, written } = view;
  const lines = written.map(
    ({ path, file, found, wanted }) =>
      `${paint("green", "set")} ${oneLine(path)} ${file}: ${found ?? "(missing)"} -> ${wanted}`,
  );
  for (const group of report.groups) appendAll(lines, groupLines(group, paint));
  if (!onlyDifferences) {
    const weights = report.runtimeWeights
      ? `, the runtime's weights are ${report.runtimeWeights}`
      : "";
    lines.push(`cgroup v${report.version}, driver ${report.driver}${weights}`);
  }
  lines.push(
    report.differences === 0
      ? paint("green", "nothing differs")
      : paint(
          "yellow",
          `${counted(report.differences, "value")} ${report.differences === 1 ? "differs" : "differ"}`,
        ),
  );
  return lines;
}

function groupLines(group: ReportedGroup, paint: Paint): readonly string[] {
  const width = largest(
    group.values.map(({ file }) => file.length),
    0,
  );
  return [
    `${paint("cyan", oneLine(group.path))}${aboutOf(group)}`,
    ...group.values.map((value) => `  ${padText(value.file, width)}  ${textOf(value, paint)}`),
  ];
}

function aboutOf({ kind, exists, pod, container }: ReportedGroup): string {
  const parts = [
    kind === "container" ? `container ${oneLine(container ?? "")} of ${oneLine(pod ?? "")}` : "",
    kind === "pod" ? `pod ${oneLine(pod ?? "")}` : "",
    kind === "unknown" ? "belongs to no known pod; removed by the next cleanup" : "",
    exists ? "" : "missing",
  ].filter((part) => part !== "");
  return parts.length === 0 ? "" : `  (${parts.join("; ")})`;
}

const WHOSE: Readonly<Record<ReportedValue["state"], string>> = {
  same: "",
  differs: "",
  foreign: "; set by another program",
  runtime: "; set by the runtime",
};

function textOf({ found, wanted, state }: ReportedValue, paint: Paint): string {
  const has = found ?? "(missing)";
  if (state === "same") return oneLine(has);
  return `${paint("yellow", oneLine(has))}  (should be ${wanted}${WHOSE[state]})`;
}
