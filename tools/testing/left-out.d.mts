/** Types of left-out.mjs, which is plain JavaScript as the runner is. */
export const FEWER_SEEDS: string;
export const ALL_SEEDS: string;
export const NAMED_PATHS: readonly string[];
export const NAMED_PROVISIONS: readonly string[];
export function splitFiles<File extends { readonly path: string; readonly kind: string }>(
  files: readonly File[],
): { readonly run: File[]; readonly left: Map<string, number> };
export function leftLine(left: ReadonlyMap<string, number>): string;
export function splitUnavailable<File extends { readonly path: string }>(
  files: readonly File[],
  unavailable: ReadonlyMap<string, string>,
): { readonly run: File[]; readonly left: Map<string, number> };
export function unavailableLine(
  left: ReadonlyMap<string, number>,
  otherwise: readonly string[],
): string | undefined;
