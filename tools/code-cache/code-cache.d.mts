/** Types of code-cache.mjs. */
import type { SourceRange } from "./source-ranges.mjs";

export const FOLDERS: Readonly<
  Record<string, { readonly often: readonly string[]; readonly rarely: readonly string[] }>
>;
export const PROGRAMS: readonly string[];
export function writeCodeCache(folder: string, name: string): number;
export function programRanges(path: string): readonly SourceRange[];
export function compileSources(path: string, isCompiled: (source: string) => boolean): Buffer;
