import type { ProbeRecord } from "./report.ts";

/** Counts of one probe by the reference's names of results. */
export interface ProbeCounts {
  readonly successful: number;
  readonly failed: number;
  readonly unknown: number;
}

/** The last looks of one probe, and how many there were in all. */
export class LookLog {
  readonly #length: number;
  readonly #records: ProbeRecord[] = [];
  #counts: ProbeCounts = { successful: 0, failed: 0, unknown: 0 };
  #busyMs = 0;
  #killed = 0;

  /** Remembers the last `length` looks. */
  constructor(length: number) {
    this.#length = length;
  }

  get counts(): ProbeCounts {
    return this.#counts;
  }

  /** Time that all looks took together. */
  get busyMs(): number {
    return this.#busyMs;
  }

  /** Processes that had to be ended after looks that ran out of time. */
  get killed(): number {
    return this.#killed;
  }

  /** Oldest first. */
  get records(): readonly ProbeRecord[] {
    return [...this.#records];
  }

  keep(record: ProbeRecord): void {
    this.#records.push(record);
    if (this.#records.length > this.#length) this.#records.shift();
    const { successful, failed, unknown } = this.#counts;
    if (record.result === "error") this.#counts = { successful, failed, unknown: unknown + 1 };
    else if (record.result === "failure")
      this.#counts = { successful, failed: failed + 1, unknown };
    else this.#counts = { successful: successful + 1, failed, unknown };
    this.#busyMs += record.durationMs;
    this.#killed += record.killed ?? 0;
  }
}
