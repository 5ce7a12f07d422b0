/** Types of source-ranges.mjs. */

interface SourceMap {
  readonly mappings: string;
  readonly sources: readonly string[];
}

interface Position {
  readonly lineNumber: number;
  readonly columnNumber: number;
}

/** Text of one source; the last one has no end. */
export interface SourceRange {
  readonly source: string;
  readonly start: Position;
  readonly end?: Position;
}

export function sourceRanges(map: SourceMap): readonly SourceRange[];
