import {
  type Clock,
  type CoalescingAlarms,
  type MonotonicMs,
  sleepWith,
  type WallMs,
} from "../../src/kit/clock.ts";
import { InvariantError } from "../../src/kit/errors.ts";
import { Heap } from "../../src/kit/health/heap.ts";

interface Alarm {
  readonly at: number;
  readonly sequence: number;
  fire: (() => void) | undefined;
}

/** More alarms than this without any time passing between them mean that something runs in circles. */
const ALARMS_AT_ONE_INSTANT = 100_000;

/** 2026-01-01T00:00:00Z; any moment would do, but a fixed one makes timestamps in tests readable. */
const DEFAULT_WALL_MS = Date.UTC(2026, 0, 1);

/**
 * Time that moves only when it is advanced. Alarms fire one by one in the order of (time, order of setting);
 * between two of them everything that promises, ticks and one turn of the event loop can bring forward
 * is brought forward. Work that waits for the real world is not waited for.
 */
export class SimClock implements Clock {
  readonly #alarms = new Heap<Alarm>(
    (a, b) => a.at < b.at || (a.at === b.at && a.sequence < b.sequence),
  );
  #nowMs = 0;
  #wallOffsetMs: number;
  #sequence = 0;
  #pending = 0;
  #moving = false;
  #firedAtThisInstant = 0;

  constructor(options: { readonly wallMs?: number } = {}) {
    this.#wallOffsetMs = options.wallMs ?? DEFAULT_WALL_MS;
  }

  monotonic(): MonotonicMs {
    return this.#nowMs as MonotonicMs;
  }

  wall(): WallMs {
    return (this.#nowMs + this.#wallOffsetMs) as WallMs;
  }

  alarm(delayMs: number, fire: () => void): () => void {
    if (Number.isNaN(delayMs)) throw new InvariantError("alarm without a time");
    const alarm: Alarm = {
      at: this.#nowMs + Math.max(0, delayMs),
      sequence: this.#sequence,
      fire,
    };
    this.#sequence += 1;
    this.#pending += 1;
    this.#alarms.push(alarm);
    return () => {
      if (alarm.fire === undefined) return;
      alarm.fire = undefined;
      this.#pending -= 1;
    };
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return sleepWith(this, ms, signal);
  }

  /** On time: a simulation is to play what happens at different moments. */
  get coalesced(): CoalescingAlarms {
    return this;
  }

  delayMs(ms: number): number {
    return ms;
  }

  /** Alarms that are set and neither fired nor cancelled. */
  get pending(): number {
    return this.#pending;
  }

  /** Milliseconds until the next alarm; `undefined` when none is set. */
  get nextInMs(): number | undefined {
    const next = this.#next();
    return next && next.at - this.#nowMs;
  }

  /** Sets the wall clock forward or back, as an administrator or NTP does; monotonic time goes on. */
  stepWall(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  /** Lets everything run that needs no time to pass. */
  settle(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  /** Moves time by `ms`, firing every alarm on the way, those set meanwhile included. */
  async advance(ms: number): Promise<void> {
    if (!(ms >= 0)) throw new InvariantError(`time cannot go back by ${-ms} ms`);
    await this.#move(this.#nowMs + ms, () => false);
  }

  /**
   * Moves time from alarm to alarm until `predicate` holds and resolves with the milliseconds that
   * passed; rejects when it does not hold within `limitMs`.
   */
  async runUntil(predicate: () => boolean, limitMs: number): Promise<number> {
    const from = this.#nowMs;
    if (await this.#move(from + limitMs, predicate)) return this.#nowMs - from;
    throw new Error(`still not so after ${limitMs} ms of virtual time: ${predicate}`);
  }

  async #move(to: number, enough: () => boolean): Promise<boolean> {
    if (this.#moving) throw new InvariantError("time is already being moved");
    this.#moving = true;
    try {
      await this.settle();
      for (;;) {
        if (enough()) return true;
        const next = this.#next();
        if (next === undefined || next.at > to) break;
        this.#reach(next.at);
        this.#fire(next);
        await this.settle();
      }
      this.#reach(to);
      return enough();
    } finally {
      this.#moving = false;
    }
  }

  #reach(at: number): void {
    if (at < this.#nowMs) throw new InvariantError(`time went back from ${this.#nowMs} to ${at}`);
    if (at > this.#nowMs) this.#firedAtThisInstant = 0;
    this.#nowMs = at;
  }

  #fire(alarm: Alarm): void {
    this.#alarms.pop();
    this.#firedAtThisInstant += 1;
    if (this.#firedAtThisInstant > ALARMS_AT_ONE_INSTANT) {
      throw new InvariantError(`alarms run in circles at ${this.#nowMs} ms`);
    }
    const fire = alarm.fire;
    alarm.fire = undefined;
    this.#pending -= 1;
    fire?.();
  }

  #next(): Alarm | undefined {
    while (this.#alarms.peek() && this.#alarms.peek()?.fire === undefined) this.#alarms.pop();
    return this.#alarms.peek();
  }
}
