/** Types of build-programs.mjs, which is plain JavaScript so that any Node can run it. */
export function builtProgram(name: string): string | undefined;
export function pinnedVersion(name: string): string;
export function sourceFolder(name: string): string;
export function buildPrograms(
  names: readonly string[],
  options?: { readonly say?: (text: string) => void },
): Promise<string[]>;
