// pure
/** What a file that calls itself pure must not do. */
import { lineAt } from "./mask.ts";
import type { SourceFile } from "./source.ts";
import type { Violation } from "./violation.ts";

/**
 * Words of effects, time and chance. Members and keys of the same name are something else, and so is a
 * `Date` made from a given instant.
 */
const FORBIDDEN =
  /(?<![.\w$#])(?:async|await|Date\.now|Date(?=\(\s*\))|Math\.random|performance|process|setTimeout|setInterval|setImmediate|queueMicrotask|console|fetch|crypto|globalThis|require)\b(?!\s*[:(]?\s*\??:)/g;

/** What `checkPurity` asks about an import. */
export interface PurityLookup {
  /** The file of the tree that is meant; undefined for packages and Node's modules. */
  resolve(specifier: string): string | undefined;
  /** Whether a file of the tree may be imported by a pure one. */
  isPure(path: string): boolean;
  /** Whether the package is given to this very file. */
  isGranted(specifier: string): boolean;
}

/** What breaks the file's promise to be pure. */
export function checkPurity(file: SourceFile, lookup: PurityLookup): Violation[] {
  if (!file.pure) return [];
  const at = (line: number, message: string): Violation => ({
    rule: "pure",
    path: file.path,
    line,
    message,
  });
  const words = [...file.runtime.matchAll(FORBIDDEN)].map((match) =>
    at(lineAt(file.runtime, match.index), `a pure file has no ${match[0]}`),
  );
  const imports = file.imports.flatMap(({ specifier, typeOnly, line }) => {
    if (typeOnly) return [];
    const target = lookup.resolve(specifier);
    if (target === undefined)
      return lookup.isGranted(specifier) ? [] : [at(line, `a pure file imports no ${specifier}`)];
    return lookup.isPure(target) ? [] : [at(line, `${target} is not pure`)];
  });
  return [...words, ...imports];
}
