/** Types of debian-suite.mjs, which is plain JavaScript so that any Node can run it. */
export const CACHE_DIR: string;
export function archiveBase(): string;
export function suiteEnvironment(
  suite: string,
  options?: { sources?: boolean },
): Record<string, string | undefined>;
export function fetchPackages(
  suite: string,
  packages: readonly string[],
  options?: { say?: (text: string) => void },
): string[];
export function withSuites<Result>(work: () => Result): Result;
