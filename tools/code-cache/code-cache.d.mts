/** Types of code-cache.mjs. */

/** A function of a program: its name, its range, and an offset in it that belongs to no function inside of it. */
export interface ProgramFunction {
  readonly name: string;
  readonly start: number;
  readonly end: number;
  readonly own: number;
}

export const RECORD: string;
export const PROGRAMS: readonly string[];
export function writeCodeCache(
  folder: string,
  name: string,
): { readonly bytes: number; readonly functions: number };
export function recordedFunctions(program: string): ReadonlySet<string>;
export function listFunctions(path: string): readonly ProgramFunction[];
export function compileFunctions(path: string, functions: readonly ProgramFunction[]): Buffer;
