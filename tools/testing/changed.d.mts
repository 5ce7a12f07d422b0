/** Files that differ from where the branch began, as paths below the checkout. */
export function changedFiles(): string[];
/** Tests that changed, that import a file that changed, or that import a file beside it that does. */
export function closeTests(
  changed: readonly string[],
  tests: readonly string[],
  imports: ReadonlyMap<string, readonly string[]>,
): string[];
