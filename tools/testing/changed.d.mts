/** Files that differ from where the branch began, as paths below the checkout. */
export function changedFiles(): string[];
/** Tests that changed, that import a file that changed, or that import a file beside it that does. */
export function closeTests(
  changed: readonly string[],
  tests: readonly string[],
  imports: ReadonlyMap<string, readonly string[]>,
): string[];
/** The tests of a change that can be afforded, and how many are left to the whole run. */
export function affordableTests(
  changed: readonly string[],
  tests: readonly string[],
  shares: (path: string) => boolean,
): { readonly run: string[]; readonly left: number };
