// pure

/**
 * Keeps probes with periods of their own from wearing the node out: together they run no more often than
 * the ceiling. Beyond that all of them slow down by the same factor, none below what its spec says.
 */
export class FineRate {
  readonly #ceilingPerSecond: number;
  #requestedPerSecond = 0;

  constructor(ceilingPerSecond: number) {
    this.#ceilingPerSecond = ceilingPerSecond;
  }

  /** Attempts per second that all such probes request. */
  get requestedPerSecond(): number {
    return this.#requestedPerSecond;
  }

  /** Adds (or with -1, takes away) a probe with a requested period of `requestedMs`. */
  expect(requestedMs: number, count: 1 | -1): void {
    this.#requestedPerSecond = Math.max(0, this.#requestedPerSecond + (count * 1000) / requestedMs);
  }

  /** The period of a probe that requests `requestedMs` and has `usualMs` in its spec. */
  periodMs(requestedMs: number, usualMs: number): number {
    const stretched = requestedMs * Math.max(1, this.#requestedPerSecond / this.#ceilingPerSecond);
    return stretched <= requestedMs
      ? requestedMs
      : Math.max(requestedMs, Math.min(stretched, usualMs));
  }
}
