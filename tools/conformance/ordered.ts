// pure
/**
 * Specs that need an earlier one. ginkgo runs those of an ordered container one after the other, and its report does
 * not say which containers are ordered: the suite's sources do, where the report says that the container stands.
 */
import {
  type CodeLocation,
  nameOfSpec,
  type SpecReport,
  type SuiteReport,
} from "./results/result.ts";

/** Lines of a file of the suite, by the name that the report has for it. */
export type SourceLines = (file: string) => readonly string[];

/** Names of all specs in ordered containers, except the one that stands first in its container. */
export function specsAfterOthers(report: SuiteReport, lines: SourceLines): Set<string> {
  return new Set(
    orderedContainers(report, lines).flatMap((members) => {
      const first = firstOf(members);
      return members.filter((spec) => spec !== first).map(nameOfSpec);
    }),
  );
}

/** The names, and those of the specs that stand before them in their ordered containers. */
export function withSpecsBefore(
  names: Iterable<string>,
  report: SuiteReport,
  lines: SourceLines,
): Set<string> {
  const chosen = new Set(names);
  const before = orderedContainers(report, lines).flatMap((members) => {
    const last = Math.max(...members.filter((spec) => chosen.has(nameOfSpec(spec))).map(lineOf));
    return members.filter((spec) => lineOf(spec) <= last).map(nameOfSpec);
  });
  return new Set([...chosen, ...before]);
}

/** The specs of each ordered container that has any. */
function orderedContainers(report: SuiteReport, lines: SourceLines): SpecReport[][] {
  const inside = report.SpecReports.flatMap((spec) => {
    const container = spec.ContainerHierarchyLocations?.find((place) => isOrdered(place, lines));
    return container === undefined ? [] : [{ spec, container: placeText(container) }];
  });
  const containers = Map.groupBy(inside, ({ container }) => container);
  return [...containers.values()].map((members) => members.map(({ spec }) => spec));
}

/** The container's arguments before the function that is its body. */
function isOrdered({ FileName, LineNumber }: CodeLocation, lines: SourceLines): boolean {
  const [call = ""] = lines(FileName)
    .slice(LineNumber - 1)
    .join("\n")
    .split("func(", 1);
  return /\bOrdered,/.test(call);
}

/** None where several stand on one line: nothing says which of them comes first. */
function firstOf(specs: readonly SpecReport[]): SpecReport | undefined {
  const [first, second] = specs.toSorted((one, other) => lineOf(one) - lineOf(other));
  return first && second && lineOf(first) === lineOf(second) ? undefined : first;
}

function lineOf({ LeafNodeLocation }: SpecReport): number {
  return LeafNodeLocation.LineNumber;
}

function placeText({ FileName, LineNumber }: CodeLocation): string {
  return `${FileName}:${LineNumber}`;
}
