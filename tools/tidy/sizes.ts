// pure
/** Limits on the size of files and functions and on the number of parameters. */
import { LARGE_FUNCTIONS, LONG_FILES } from "./exceptions.ts";
import { ANONYMOUS, type FunctionShape } from "./functions.ts";
import { lineAt } from "./mask.ts";
import { isTestFile } from "./module-rules.ts";
import type { SourceFile } from "./source.ts";
import type { Violation } from "./violation.ts";

const MAX_LINES = 400;
const MAX_FUNCTION_LINES = 60;
/** In tests, where tables of vectors stand inside; what inner functions take does not count there. */
const MAX_TEST_LINES = 100;
const MAX_PARAMETERS = 4;

/** What of the file is too large. */
export function checkSizes(file: SourceFile): Violation[] {
  return [
    ...fileSize(file),
    ...file.functions.flatMap((each) => functionSize(file, each)),
    ...spreadLiterals(file),
  ];
}

/** `...{ a, b }` says what `a, b` says on fewer lines: a function that needs it is too long. */
function spreadLiterals({ path, code }: SourceFile): Violation[] {
  return [...code.matchAll(/\.\.\.\{/g)].map(({ index }) => ({
    rule: "size",
    path,
    line: lineAt(code, index),
    message: "spreads an object literal: write its members out",
  }));
}

function fileSize({ path, text }: SourceFile): Violation[] {
  const lines = text.trimEnd().split("\n").length;
  if (lines <= MAX_LINES || path in LONG_FILES) return [];
  return [{ rule: "size", path, line: 0, message: `has ${lines} lines, ${MAX_LINES} are allowed` }];
}

function functionSize(file: SourceFile, shape: FunctionShape): Violation[] {
  const { name, line, parameters } = shape;
  if (`${file.path} ${name}` in LARGE_FUNCTIONS) return [];
  const found: string[] = [];
  const inTest = isTestFile(file.path);
  const lines = inTest ? ownLines(shape, file.functions) : shape.lines;
  const most = inTest ? MAX_TEST_LINES : MAX_FUNCTION_LINES;
  if (lines > most) found.push(`${name} has ${lines} lines, ${most} are allowed`);
  // What a callback is given is for its caller to say.
  if (parameters > MAX_PARAMETERS && name !== ANONYMOUS)
    found.push(`${name} takes ${parameters} parameters, ${MAX_PARAMETERS} are allowed`);
  return found.map((message) => ({ rule: "size", path: file.path, line, message }));
}

/** Lines of a function without those of the functions inside. */
function ownLines(outer: FunctionShape, all: readonly FunctionShape[]): number {
  const lastLine = (shape: FunctionShape) => shape.line + shape.lines - 1;
  let own = outer.lines;
  let covered = outer.line;
  for (const inner of all) {
    const inside = inner !== outer && inner.line > covered && lastLine(inner) <= lastLine(outer);
    if (!inside) continue;
    own -= inner.lines;
    covered = lastLine(inner);
  }
  return own;
}
