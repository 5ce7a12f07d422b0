/** Turns of the event loop for requests that wait; there are no more of them than connections. */
export class OwnTurns {
  readonly #waiting: (() => void)[] = [];
  /** Health checks: whoever asks ends the process when it does not answer in time. */
  readonly #urgent: (() => void)[] = [];
  #isScheduled = false;

  /**
   * Resolves in a turn of the event loop in which no other request of this server is answered. Of hundreds of connections
   * that are readable at once Node would answer all in one turn, before any timer: probes were a second late for it.
   * Those that are urgent come first.
   */
  next(isUrgent = false): Promise<void> {
    return new Promise((resolve) => {
      (isUrgent ? this.#urgent : this.#waiting).push(resolve);
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.length + this.#urgent.length === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      (this.#urgent.shift() ?? this.#waiting.shift())?.();
      this.#schedule();
    });
  }
}
