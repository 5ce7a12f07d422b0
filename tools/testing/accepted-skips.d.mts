/** Types of accepted-skips.mjs, which is plain JavaScript so that any Node can run it. */
export interface AcceptedSkip {
  readonly reason: RegExp;
  readonly why: string;
  readonly stands: (match: RegExpExecArray) => boolean;
}
export interface FileResult {
  readonly path: string;
  readonly kind?: string;
  readonly passed: number;
  readonly skips: readonly { readonly name: string; readonly reason: string }[];
  readonly failures: readonly { readonly name: string; readonly error: string }[];
  readonly output?: string;
  readonly seconds?: number;
}
export function skipProblem(reason: string, accepted?: readonly AcceptedSkip[]): string | undefined;
export function judgeSkips(result: FileResult, accepted?: readonly AcceptedSkip[]): FileResult;
