/** Types of families.mjs, which is plain JavaScript so that any Node can run it. */
export interface Family {
  /** The module that gives the family its version. */
  readonly module: string;
  readonly programs: Readonly<Record<string, string>>;
  readonly variables?: (version: string) => readonly (readonly [name: string, value: string])[];
}
export const FAMILIES: Readonly<Record<string, Family>>;
export function builtName(packagePath: string): string;
export function familyOf(program: string): string;
export function isSuite(program: string): boolean;
