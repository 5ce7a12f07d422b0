/** Types of report.mjs, which is plain JavaScript so that any Node can run it. */
import type { FileResult } from "./accepted-skips.mjs";
export interface Report {
  add(result: FileResult): void;
  repeat(result: FileResult): void;
  failed(): boolean;
  failedFiles(): readonly { readonly path: string; readonly kind: string }[];
  close(interrupted: boolean): void;
}
export function createReport(total: number, options?: { readonly quiet?: boolean }): Report;
