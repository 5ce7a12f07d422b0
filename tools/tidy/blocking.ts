// pure
/** What may hold up every pod: calls that block the thread, and lists worked on without a bound. */

import { lineAt } from "./mask.ts";
import { isTestFile, isWithin, type ModuleRules } from "./module-rules.ts";
import type { SourceFile } from "./source.ts";
import type { Violation } from "./violation.ts";

/** Modules of Node whose synchronous calls wait for disks or processes. */
const MODULES = /^node:(?:fs|child_process)$/;
const SYNCHRONOUS = /\b\w+Sync\b/g;

/** Synchronous calls of the file system or of processes outside the places that may make them. */
export function checkBlocking(file: SourceFile, moduleRules: ModuleRules): Violation[] {
  if (!isProduct(file) || moduleRules.synchronous === undefined) return [];
  const places = Object.values(moduleRules.synchronous).flatMap((each) =>
    typeof each === "string" ? [] : each,
  );
  if (isWithin(placeOf(file), places)) return [];
  return file.imports.flatMap(({ specifier, typeOnly, line, names }) => {
    if (typeOnly || !MODULES.test(specifier)) return [];
    const found = names === undefined ? ["the whole module"] : (names.match(SYNCHRONOUS) ?? []);
    return found.map((name): Violation => {
      const message = `${name} of ${specifier} blocks the thread for all pods`;
      return { rule: "blocking", path: file.path, line, message };
    });
  });
}

/** `Promise.all(list.map(…))` and its kin: as much at once as there are elements, and one failure for all. */
const UNBOUNDED = /\bPromise\.(?:all|allSettled|any)\(\s*(?!\[)/g;
const STARTS_WORK = /\.map\(|\bArray\.from\(/;
/** The function that starts work on lists for everybody. */
const KIT = "kit/in-parallel.ts";

/** Work started for each element of a list without a bound. */
export function checkParallel(file: SourceFile, moduleRules: ModuleRules): Violation[] {
  const place = placeOf(file);
  if (!isProduct(file) || place === KIT || !isWithin(place, moduleRules.boundedParallel ?? []))
    return [];
  return [...file.runtime.matchAll(UNBOUNDED)].flatMap((match): Violation[] => {
    const argument = argumentAt(file.runtime, match.index + match[0].length);
    if (!STARTS_WORK.test(argument)) return [];
    const message = "a list is worked on without a bound; use inParallel of kit/in-parallel.ts";
    return [
      { rule: "parallel", path: file.path, line: lineAt(file.runtime, match.index), message },
    ];
  });
}

function isProduct({ path }: SourceFile): boolean {
  return path.startsWith("src/") && !isTestFile(path);
}

function placeOf({ path }: SourceFile): string {
  return path.slice("src/".length);
}

/** The text from `start` to the parenthesis that ends the call. */
function argumentAt(code: string, start: number): string {
  let depth = 1;
  let end = start;
  for (; end < code.length && depth > 0; end += 1) {
    if (code[end] === "(") depth += 1;
    if (code[end] === ")") depth -= 1;
  }
  return code.slice(start, end);
}
