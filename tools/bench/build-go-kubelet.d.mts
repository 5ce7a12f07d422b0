/** Types of build-go-kubelet.mjs, which is plain JavaScript so that any Node can run it. */
export const VERSION: string;
export function builtProgram(name: string): string | undefined;
export function buildProgram(
  name: string,
  options?: { readonly say?: (text: string) => void },
): Promise<string>;
export function buildPrograms(
  names: readonly string[],
  options?: { readonly say?: (text: string) => void },
): Promise<string[]>;
