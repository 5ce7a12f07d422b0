// pure
import type { ProgramFunction } from "./code-cache.mjs";

/** What Node writes with NODE_V8_COVERAGE, as far as it is needed. */
export interface Coverage {
  readonly result: readonly { readonly url: string; readonly functions: readonly Covered[] }[];
}

/** A function that V8 knows; the first range is all of it. */
export interface Covered {
  readonly ranges: readonly {
    readonly startOffset: number;
    readonly endOffset: number;
    readonly count: number;
  }[];
}

/** V8 lets a method begin after its `static`. */
const START_DIFFERENCE = "static ".length;

/**
 * Names of the functions that were called. V8's offsets begin `offset` characters before the program. What V8 makes itself is left out: the function
 * around the program, and those that set the fields of a class, which are compiled with the function around the class.
 */
export function calledFunctions(
  covered: readonly Covered[],
  functions: readonly ProgramFunction[],
  offset: number,
): readonly string[] {
  const byEnd = Map.groupBy(functions, ({ end }) => end);
  return covered.flatMap(({ ranges: [range] }) => {
    if (range === undefined || range.count === 0) return [];
    const start = range.startOffset - offset;
    const found = byEnd
      .get(range.endOffset - offset)
      ?.find((each) => start >= each.start && start - each.start <= START_DIFFERENCE);
    return found?.name ?? [];
  });
}
