/** Types of report.mjs, which is plain JavaScript so that any Node can run it. */
import type { FileResult } from "./accepted-skips.mjs";
export interface Report {
  start(file: { readonly path: string }): void;
  add(result: FileResult): void;
  repeat(result: FileResult): void;
  failed(): boolean;
  failedFiles(): readonly { readonly path: string; readonly kind: string }[];
  durations(): readonly (readonly [string, number])[];
  close(interrupted: boolean, leftLine?: string): void;
}
export function createReport(
  files: readonly { readonly path: string; readonly kind: string }[],
  options?: { readonly quiet?: boolean; readonly known?: ReadonlyMap<string, number> },
): Report;
