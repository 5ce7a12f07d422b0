// Whether the series that expressions ask for are on a page.
import type { PageSample } from "../support/metric-page.ts";
import type { QueriedSeries } from "./mixin.vectors.ts";

/** `expression: series` of every series that no sample of the page matches. */
export function missingSeries(
  expressions: Readonly<Record<string, readonly QueriedSeries[]>>,
  samples: readonly PageSample[],
): readonly string[] {
  return Object.entries(expressions).flatMap(([expression, queried]) =>
    queried
      .filter(({ name, labels = {} }) => {
        const patterns = Object.entries(labels).map(
          ([label, pattern]) => [label, new RegExp(`^(${pattern})$`)] as const,
        );
        return !samples.some(
          (sample) =>
            sample.name === name &&
            patterns.every(([label, pattern]) => pattern.test(sample.labels[label] ?? "")),
        );
      })
      .map(({ name }) => `${expression}: ${name}`),
  );
}
