// pure

/** Work on the same name waits for its turn; work on different names goes side by side. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  /** Runs `work` once all earlier work on `name` has ended, however it ended. */
  take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve();
    const run = before.then(work);
    const ended = run.then(
      () => {},
      () => {},
    );
    this.#last.set(name, ended);
    void ended.then(() => {
      if (this.#last.get(name) === ended) this.#last.delete(name);
    });
    return run;
  }

  /** Whether work on the name is under way or waiting. */
  isTaken(name: string): boolean {
    return this.#last.has(name);
  }
}
