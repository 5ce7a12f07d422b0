// pure

/**
 * Keeps probes with periods of their own from wearing the node out: together they look no more often than
 * the ceiling. Beyond that all of them slow down by the same factor, none below what its spec says.
 */
export class FineRate {
  readonly #ceilingPerSecond: number;
  #requestedPerSecond = 0;

  constructor(ceilingPerSecond: number) {
    this.#ceilingPerSecond = ceilingPerSecond;
  }

  /** Looks a second that are wanted of all such probes. */
  get requestedPerSecond(): number {
    return this.#requestedPerSecond;
  }

  /** Adds (or with -1, takes away) a probe that wants to look every `wantedMs`. */
  expect(requestedMs: number, count: 1 | -1): void {
    this.#requestedPerSecond = Math.max(0, this.#requestedPerSecond + (count * 1000) / requestedMs);
  }

  /** The period that a probe gets which wants `wantedMs` and would have `usualMs` by its spec. */
  periodMs(requestedMs: number, usualMs: number): number {
    const stretched = requestedMs * Math.max(1, this.#requestedPerSecond / this.#ceilingPerSecond);
    return stretched <= requestedMs
      ? requestedMs
      : Math.max(requestedMs, Math.min(stretched, usualMs));
  }
}
