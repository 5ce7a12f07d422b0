// pure

/**
 * Keeps probes with periods of their own from wearing the node out: together they look no more often than
 * the ceiling. Beyond that all of them slow down by the same factor, none below what its spec says.
 */
export class FineRate {
  readonly #ceilingPerSecond: number;
  #wantedPerSecond = 0;

  constructor(ceilingPerSecond: number) {
    this.#ceilingPerSecond = ceilingPerSecond;
  }

  /** Looks a second that are wanted of all such probes. */
  get wantedPerSecond(): number {
    return this.#wantedPerSecond;
  }

  /** Adds (or with -1, takes away) a probe that wants to look every `wantedMs`. */
  expect(wantedMs: number, count: 1 | -1): void {
    this.#wantedPerSecond = Math.max(0, this.#wantedPerSecond + (count * 1000) / wantedMs);
  }

  /** The period that a probe gets which wants `wantedMs` and would have `usualMs` by its spec. */
  periodMs(wantedMs: number, usualMs: number): number {
    const stretched = wantedMs * Math.max(1, this.#wantedPerSecond / this.#ceilingPerSecond);
    return stretched <= wantedMs ? wantedMs : Math.max(wantedMs, Math.min(stretched, usualMs));
  }
}
