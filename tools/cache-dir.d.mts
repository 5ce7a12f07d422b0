/** Types of cache-dir.mjs, which is plain JavaScript so that any Node can run it. */
export function cacheDir(
  environment?: Readonly<Record<string, string | undefined>>,
  account?: { readonly homedir?: string | null; readonly uid: number },
): string;
