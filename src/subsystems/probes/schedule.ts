import type { Clock } from "../../kit/clock.ts";
import { Heap } from "../../kit/health/heap.ts";

interface Entry {
  at: number;
  sequence: number;
  /** `undefined` once the turn was cancelled or moved. */
  turn: ScheduledTurn | undefined;
}

/** A recurring timer; each run sets the time of the next. */
export interface ScheduledCall {
  /** The monotonic time it is set to; `undefined` while it is not. */
  readonly at: number | undefined;
  /** Lets it come at the monotonic time `at`, or as soon as possible when that has passed. */
  set(at: number): void;
  /** Takes it back. */
  cancel(): void;
}

/** Any number of turns behind one alarm of the clock. Turns of the same time come in the order of setting. */
export class Schedule {
  readonly #clock: Clock;
  readonly #entries = new Heap<Entry>(
    (a, b) => a.at < b.at || (a.at === b.at && a.sequence < b.sequence),
  );
  #sequence = 0;
  #alarm: { readonly at: number; readonly cancel: () => void } | undefined;
  #isRinging = false;
  #closed = false;
  readonly #ring = () => this.#fireDue();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A turn that calls `fire` whenever it comes; it is not set yet. */
  turn(fire: () => void): ScheduledCall {
    return new ScheduledTurn(fire, (turn, entry) => this.#queue(turn, entry));
  }

  /** Nothing fires any more. */
  close(): void {
    this.#closed = true;
    this.#alarm?.cancel();
    this.#alarm = undefined;
  }

  #queue(turn: ScheduledTurn, entry: Entry): void {
    entry.sequence = this.#sequence;
    this.#sequence += 1;
    entry.turn = turn;
    this.#entries.push(entry);
    if (!this.#isRinging) this.#arm();
  }

  #arm(): void {
    while (this.#entries.peek() && this.#entries.peek()?.turn === undefined) this.#entries.pop();
    const next = this.#entries.peek();
    if (this.#closed || next === undefined) return;
    if (this.#alarm && this.#alarm.at <= next.at) return;
    this.#alarm?.cancel();
    const delayMs = Math.max(0, next.at - this.#clock.monotonic());
    this.#alarm = { at: next.at, cancel: this.#clock.alarm(delayMs, this.#ring) };
  }

  #fireDue(): void {
    this.#alarm = undefined;
    this.#isRinging = true;
    const now = this.#clock.monotonic();
    try {
      for (let next = this.#entries.peek(); next; next = this.#entries.peek()) {
        if (this.#closed || (next.at > now && next.turn !== undefined)) break;
        this.#entries.pop();
        next.turn?.come();
      }
    } finally {
      this.#isRinging = false;
      this.#arm();
    }
  }
}

/** Keeps its entry from one time to the next: most are set once a second for as long as a pod lives. */
class ScheduledTurn implements ScheduledCall {
  readonly #fire: () => void;
  readonly #queue: (turn: ScheduledTurn, entry: Entry) => void;
  #entry: Entry = { at: 0, sequence: 0, turn: undefined };
  #isSet = false;

  constructor(fire: () => void, queue: (turn: ScheduledTurn, entry: Entry) => void) {
    this.#fire = fire;
    this.#queue = queue;
  }

  get at(): number | undefined {
    return this.#isSet ? this.#entry.at : undefined;
  }

  set(at: number): void {
    if (this.#isSet) this.cancel();
    this.#isSet = true;
    this.#entry.at = at;
    this.#queue(this, this.#entry);
  }

  cancel(): void {
    if (!this.#isSet) return;
    this.#isSet = false;
    // The old entry is still in the queue, where its time must not change.
    this.#entry.turn = undefined;
    this.#entry = { at: 0, sequence: 0, turn: undefined };
  }

  come(): void {
    this.#isSet = false;
    this.#fire();
  }
}
