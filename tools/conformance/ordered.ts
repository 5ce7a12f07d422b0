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
  const inside = report.SpecReports.flatMap((spec) => {
    const container = spec.ContainerHierarchyLocations?.find((place) => isOrdered(place, lines));
    return container === undefined ? [] : [{ spec, container: placeText(container) }];
  });
  const containers = Map.groupBy(inside, ({ container }) => container);
  return new Set(
    [...containers.values()].flatMap((members) => {
      const first = firstOf(members.map(({ spec }) => spec));
      return members.filter(({ spec }) => spec !== first).map(({ spec }) => nameOfSpec(spec));
    }),
  );
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
