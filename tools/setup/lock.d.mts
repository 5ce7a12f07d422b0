/** Types of lock.mjs, which is plain JavaScript so that any Node can run it. */
export function withLock<Result>(
  path: string,
  work: () => Promise<Result>,
  options?: { readonly other?: string },
): Promise<Result>;
export function withLockSync<Result>(
  path: string,
  work: () => Result,
  options?: { readonly other?: string },
): Result;
