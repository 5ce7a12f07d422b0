// pure
import { SerialQueue } from "./serial-queue.ts";

/** Work on the same name waits for its turn; work on different names goes side by side. */
export class Turns {
  readonly #queues = new Map<string, SerialQueue>();

  /** Runs `work` once all earlier work on `name` has ended, however it ended. */
  take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(name) ?? new SerialQueue();
    this.#queues.set(name, queue);
    const result = queue.run(work);
    const onEnd = () => {
      if (!queue.isBusy) this.#queues.delete(name);
    };
    void result.then(onEnd, onEnd);
    return result;
  }

  /** Whether work on the name is under way or waiting. */
  isTaken(name: string): boolean {
    return this.#queues.has(name);
  }
}
