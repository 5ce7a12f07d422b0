/** Files that differ from where the branch began, as paths below the checkout. */
export function changedFiles(): string[];
/** What each of the given files imports of the checkout. */
export function importsOf(paths: readonly string[]): Map<string, string[]>;
/** Paths that a source text imports with a relative specifier. */
export function importedBy(path: string, text: string): string[];
/** Tests that changed, that import a file that changed, or that import a file beside it that does. */
export function closeTests(
  changed: readonly string[],
  tests: readonly string[],
  imports: ReadonlyMap<string, readonly string[]>,
): string[];
