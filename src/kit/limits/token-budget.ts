// pure

/** How often something may be done: `burst` times at once, and once more every `intervalMs`. */
export interface Budget {
  readonly burst: number;
  readonly intervalMs: number;
}

/** State of a token budget: the time at which it is full again; `undefined` when it is full. */
export type FullAt = number | undefined;

/** Takes one token if there is one. */
export function spend(
  fullAt: FullAt,
  at: number,
  budget: Budget,
): { readonly granted: boolean; readonly fullAt: number } {
  const next = reserve(fullAt, at, budget);
  return next - at > budget.burst * budget.intervalMs
    ? { granted: false, fullAt: next - budget.intervalMs }
    : { granted: true, fullAt: next };
}

/** Takes one token, also one that is only there later. */
export function reserve(fullAt: FullAt, at: number, { intervalMs }: Budget): number {
  return Math.max(fullAt ?? at, at) + intervalMs;
}

/** Milliseconds until what was taken is covered. */
export function owedMs(fullAt: FullAt, at: number, { burst, intervalMs }: Budget): number {
  return Math.max(0, (fullAt ?? at) - burst * intervalMs - at);
}
