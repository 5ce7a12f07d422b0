// What source files import, found in their text.
import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { ROOT } from "./files.mjs";

/** What each of the given files loads of the checkout. */
export function importsOf(paths) {
  return new Map(
    paths.map((path) => [path, importedBy(path, readFileSync(join(ROOT, path), "utf8"))]),
  );
}

/** Paths that a source text loads with a relative specifier; what it imports as types only is not loaded. */
export function importedBy(path, text) {
  return specifiersOf(text)
    .filter((specifier) => /^\.{1,2}\//.test(specifier))
    .map((specifier) => normalize(join(dirname(path), specifier)));
}

/** A declaration at the beginning of a line, or an expression; prose says "from", too. */
const LOADS =
  /^(?:import|export)\b(?:[^;"'`]*\bfrom)?\s*["']([^"'\s]+)["']|\bimport\(\s*["']([^"'\s]+)["']/gm;

/** All specifiers that a source text loads: of files, packages and modules of Node. */
export function specifiersOf(text) {
  return [...withoutTypes(text).matchAll(LOADS)].map(([, fixed, onDemand]) => fixed ?? onDemand);
}

/** Names that a source text imports from a module, types left out; `* as x` is one of them. */
export function namesFrom(module, text) {
  return [...withoutTypes(text).matchAll(/\bimport\s+([^;"']*?)\s+from\s*["']([^"']+)["']/g)]
    .filter(([, , from]) => from === module)
    .flatMap(([, names]) => names.replace(/[{}]/g, ",").split(","))
    .map((name) => name.trim())
    .filter((name) => name !== "" && !/^type\s/.test(name));
}

function withoutTypes(text) {
  return text.replace(/\b(?:import|export)\s+type\s[^;"']*?\bfrom\s*["'][^"']+["']/g, "");
}
