// pure

/** Work that is done one after the other, in the order of the calls; a failure stops none of the others. */
export class SerialQueue {
  #last: Promise<void> = Promise.resolve();
  #pending = 0;

  /** Whether work is under way or waiting. */
  get isBusy(): boolean {
    return this.#pending > 0;
  }

  /** Runs `work` once all earlier work has ended, however it ended. Resolves or rejects as `work` does. */
  run<T>(work: () => T | Promise<T>): Promise<T> {
    this.#pending += 1;
    const result = this.#last.then(work);
    const onEnd = () => {
      this.#pending -= 1;
    };
    this.#last = result.then(onEnd, onEnd);
    return result;
  }
}
