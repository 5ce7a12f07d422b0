/** A source file as the rules of structure see it. */
import { stripTypeScriptTypes } from "node:module";
import { type FunctionShape, functionsOf } from "./functions.ts";
import { lineAt, mask } from "./mask.ts";

/** An import, re-export or dynamic import. */
export interface Import {
  readonly specifier: string;
  /** Nothing of it is left when the program runs. */
  readonly typeOnly: boolean;
  readonly line: number;
  /** What stands between the braces; undefined where there are none. */
  readonly names: string | undefined;
}

/** A declaration that the file exports where it stands. */
export interface ExportedDeclaration {
  readonly name: string;
  readonly line: number;
  readonly documented: boolean;
}

/** One TypeScript file. */
export interface SourceFile {
  /** Relative to the checkout, like `src/kit/clock.ts`. */
  readonly path: string;
  readonly text: string;
  /** The code alone, see `mask`. */
  readonly code: string;
  /** The code without types, at the same positions. */
  readonly runtime: string;
  readonly pure: boolean;
  readonly imports: readonly Import[];
  readonly functions: readonly FunctionShape[];
  readonly exports: readonly ExportedDeclaration[];
}

/** Reads what the rules need from a file's text. Throws for text that is not TypeScript. */
export function readSource(path: string, text: string): SourceFile {
  const { code } = mask(text);
  const runtime = mask(stripTypeScriptTypes(text)).code;
  return {
    path,
    text,
    code,
    runtime,
    pure: text.startsWith("// pure\n"),
    imports: importsOf(text, code),
    functions: functionsOf(runtime),
    exports: exportsOf(text, code),
  };
}

/** Static imports and re-exports, then `import(…)` of a literal; the latter also as a type. */
function importsOf(text: string, code: string): Import[] {
  const found: Import[] = [];
  const statements =
    /(?:^|[;}\n])[ \t]*(import|export)\b([^;"'()=]*?)\bfrom\s*["']|(?:^|[;}\n])[ \t]*import\s*["']/g;
  for (const match of code.matchAll(statements)) {
    const quote = match.index + match[0].length - 1;
    found.push({
      specifier: literalAt(text, quote),
      typeOnly: isTypeOnly(match[2] ?? ""),
      line: lineAt(text, quote),
      names: /\{([^}]*)\}/.exec(match[2] ?? "")?.[1],
    });
  }
  for (const match of code.matchAll(/(\btypeof\s+|[:<|&=]\s*)?\bimport\(\s*["']/g)) {
    const quote = match.index + match[0].length - 1;
    const before = match[1] ?? "";
    const typeOnly = /^[:<|&]|^typeof/.test(before);
    const line = lineAt(text, quote);
    found.push({ specifier: literalAt(text, quote), typeOnly, line, names: undefined });
  }
  return found;
}

/** `import type …`, or named imports that all are types. */
function isTypeOnly(clause: string): boolean {
  if (/^\s*type\b(?!\s*(,|from))/.test(clause)) return true;
  const named = /^\s*\{([^}]*)\}\s*$/.exec(clause)?.[1];
  if (named === undefined) return false;
  const names = named.split(",").filter((name) => name.trim() !== "");
  return names.length > 0 && names.every((name) => /^\s*type\s/.test(name));
}

function literalAt(text: string, quote: number): string {
  return text.slice(quote + 1, text.indexOf(text[quote] ?? '"', quote + 1));
}

const DECLARATION =
  /^export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(?:function\s*\*?|class|const|let|interface|type|enum)\s+([\w$]+)/gm;

/** Overloads of one function are documented by the first of them. */
function exportsOf(text: string, code: string): ExportedDeclaration[] {
  const byName = new Map<string, ExportedDeclaration>();
  for (const match of code.matchAll(DECLARATION)) {
    const name = match[1] ?? "";
    if (byName.has(name)) continue;
    const before = text.slice(0, match.index).trimEnd();
    // A directive to the linter may stand between the comment and what it describes.
    const described = before.replace(/(?:\n\/\/ biome-ignore [^\n]*)+$/, "").trimEnd();
    const documented = described.endsWith("*/") && isDocComment(described);
    byName.set(name, { name, line: lineAt(text, match.index), documented });
  }
  return [...byName.values()];
}

function isDocComment(before: string): boolean {
  const start = before.lastIndexOf("/*");
  return before.startsWith("/**", start) && before.length - start > "/** */".length;
}
