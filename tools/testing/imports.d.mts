/** What each of the given files loads of the checkout. */
export function importsOf(paths: readonly string[]): Map<string, string[]>;
/** Paths that a source text loads with a relative specifier. */
export function importedBy(path: string, text: string): string[];
/** All specifiers that a source text loads. */
export function specifiersOf(text: string): string[];
/** Names that a source text imports from a module, types left out. */
export function namesFrom(module: string, text: string): string[];
