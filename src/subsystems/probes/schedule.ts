import type { Clock } from "../../kit/clock.ts";
import { Heap } from "../../kit/heap.ts";

/** A turn that is to come; `cancel` takes it back. */
export interface Turn {
  readonly at: number;
  cancel(): void;
}

interface Entry {
  readonly at: number;
  readonly sequence: number;
  fire: (() => void) | undefined;
}

/** Any number of turns behind one alarm of the clock. Turns of the same time come in the order of asking. */
export class Schedule {
  readonly #clock: Clock;
  readonly #entries = new Heap<Entry>(
    (a, b) => a.at < b.at || (a.at === b.at && a.sequence < b.sequence),
  );
  #sequence = 0;
  #alarm: { readonly at: number; readonly cancel: () => void } | undefined;
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `fire` at the monotonic time `at`, or as soon as possible when that has passed. */
  at(at: number, fire: () => void): Turn {
    const entry: Entry = { at, sequence: this.#sequence, fire };
    this.#sequence += 1;
    this.#entries.push(entry);
    this.#arm();
    return {
      at,
      cancel: () => {
        entry.fire = undefined;
      },
    };
  }

  /** Nothing fires any more. */
  close(): void {
    this.#closed = true;
    this.#alarm?.cancel();
    this.#alarm = undefined;
  }

  #arm(): void {
    while (this.#entries.peek() && this.#entries.peek()?.fire === undefined) this.#entries.pop();
    const next = this.#entries.peek();
    if (this.#closed || next === undefined) return;
    if (this.#alarm && this.#alarm.at <= next.at) return;
    this.#alarm?.cancel();
    const cancel = this.#clock.alarm(Math.max(0, next.at - this.#clock.monotonic()), () =>
      this.#ring(),
    );
    this.#alarm = { at: next.at, cancel };
  }

  #ring(): void {
    this.#alarm = undefined;
    const now = this.#clock.monotonic();
    try {
      for (let next = this.#entries.peek(); next; next = this.#entries.peek()) {
        if (this.#closed || (next.at > now && next.fire !== undefined)) break;
        this.#entries.pop();
        next.fire?.();
      }
    } finally {
      this.#arm();
    }
  }
}
