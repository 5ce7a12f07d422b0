// pure

/** The lines of a file that is appended to. */
export interface SortedLines {
  /** Those that make sense, in their order. */
  readonly good: readonly string[];
  /** How many were not written to their end: one at the end of the file, and those that follow once more as a whole. */
  readonly torn: number;
  /** How many make no sense. */
  readonly damaged: number;
}

/** What a file of lines without any has in it: one that is empty has lost its content. */
export const NO_LINE = "\n";

/**
 * The beginning of a line as it is written: JSON, which holds no control characters. What a file system leaves of a file whose
 * content it has lost, zeros, is none.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is searched for.
const MAY_BE_TORN = /^[{[][^\0-\x1f]*$/;

/**
 * Sorts lines, of which empty ones are none. A line that a full disk did not take as a whole stands once more further down,
 * because it was written again; one that a crash has torn is the last.
 */
export function sortLines(text: string, isLine: (line: string) => boolean): SortedLines {
  const lines = text.split("\n");
  const good: string[] = [];
  const bad: { readonly line: string; readonly goodBefore: number }[] = [];
  for (const line of lines) {
    if (line === "") continue;
    if (isLine(line)) good.push(line);
    else bad.push({ line, goodBefore: good.length });
  }
  const last = bad.at(-1)?.line;
  const isTorn = last !== undefined && last === lines.at(-1) && MAY_BE_TORN.test(last);
  const ended = isTorn ? bad.slice(0, -1) : bad;
  // The first that makes no sense decides: each is searched for in all that follow.
  const isWhole = ended.every(({ line, goodBefore }) => isBegun(line, good, goodBefore));
  const damaged = isWhole ? 0 : ended.length;
  return { good, torn: bad.length - damaged, damaged };
}

/** Whether one of the lines from there on begins in this way. */
function isBegun(line: string, lines: readonly string[], from: number): boolean {
  // It may end within a character.
  const begun = line.replace(/\uFFFD+$/, "");
  if (begun === "") return false;
  for (let at = from; at < lines.length; at += 1) if (lines[at]?.startsWith(begun)) return true;
  return false;
}
