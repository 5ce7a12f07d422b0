import { OutsideError } from "../../src/kit/errors.ts";
import type { RuntimeEvent } from "../../src/outside/cri/cri.ts";

/** One reader of the fake runtime's events. */
export class EventSubscriber {
  readonly #signal: AbortSignal;
  #queue: RuntimeEvent[] = [];
  #error: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", () => this.end(signal.reason as Error), { once: true });
  }

  push(event: RuntimeEvent): void {
    this.#queue.push(event);
    this.#wake?.();
  }

  end(error: Error): void {
    this.#error = error;
    this.#wake?.();
  }

  async *read(): AsyncGenerator<RuntimeEvent> {
    this.#signal.throwIfAborted();
    for (;;) {
      const events = this.#queue;
      this.#queue = [];
      yield* events;
      if (this.#error) throw this.#error;
      if (this.#queue.length > 0) continue;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

/** What every call says while the daemon is away. */
export function unavailable(): OutsideError {
  return new OutsideError("unavailable", "the fake runtime is down");
}
