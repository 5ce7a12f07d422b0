// pure
import type { MonotonicMs } from "../../kit/clock.ts";

/** An average is taken over at least this. */
const SHORTEST_MS = 500;
/** An average is taken over this or up to twice as much where questions come often. */
const USUAL_MS = 10_000;
/** Older samples say nothing about the present rate. */
const LONGEST_MS = 5 * 60_000;

interface Sample {
  readonly at: MonotonicMs;
  readonly nanos: number;
}

/** Averages begin at `base`; `next` takes its place when it is old enough. */
interface Known {
  readonly base: Sample;
  readonly next: Sample;
}

/**
 * Turns counters of CPU time into averages. Nobody measures on their behalf: an average reaches from one
 * question to a later one.
 */
export class CpuRates {
  readonly #known = new Map<string, Known>();

  /** Cores in use, in billionths; `undefined` when there was no usable earlier sample or the counter decreased. */
  note(path: string, at: MonotonicMs, nanos: number): number | undefined {
    const sample = { at, nanos };
    const known = this.#known.get(path);
    if (!known || nanos < known.next.nanos || at - known.next.at > LONGEST_MS) {
      this.#known.set(path, { base: sample, next: sample });
      return undefined;
    }
    const isDue = at - known.next.at >= USUAL_MS;
    const base = isDue ? known.next : known.base;
    if (isDue) this.#known.set(path, { base, next: sample });
    const ms = at - base.at;
    return ms < SHORTEST_MS ? undefined : Math.round(((nanos - base.nanos) / ms) * 1000);
  }

  /** How long the average of `path` reaches back; `undefined` before its first sample. */
  windowMs(path: string, now: MonotonicMs): number | undefined {
    const known = this.#known.get(path);
    return known && now - known.base.at;
  }

  /** Lets go of what is not in `paths`. */
  keep(paths: ReadonlySet<string>): void {
    for (const path of this.#known.keys()) if (!paths.has(path)) this.#known.delete(path);
  }
}
