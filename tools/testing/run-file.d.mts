/** Types of run-file.mjs, which is plain JavaScript so that any Node can run it. */
import type { FileResult } from "./accepted-skips.mjs";
export function runFile(
  file: { readonly path: string; readonly kind: string },
  options?: { readonly namePattern?: string; readonly signal?: AbortSignal },
): Promise<FileResult>;
export function runTogether(
  files: readonly { readonly path: string; readonly kind: string }[],
  options?: { readonly signal?: AbortSignal },
): Promise<FileResult[]>;
