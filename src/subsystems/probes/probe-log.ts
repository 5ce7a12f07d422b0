import type { WallMs } from "../../kit/clock.ts";
import type { ProbeOutcome } from "./outcome.ts";
import type { ProbeRecord } from "./report.ts";

/** Counts of one probe by the Go kubelet's names of results. */
interface ProbeCounts {
  readonly successful: number;
  readonly failed: number;
  readonly unknown: number;
}

const RESULTS: readonly ProbeRecord["result"][] = ["success", "warning", "failure", "error"];

/** Numbers kept of each attempt: when, how long, how late, result, processes ended. */
const COLUMNS = 5;

/** Characters of a probe's output that its history keeps. */
const MAX_OUTPUT_CHARS = 256;

/** The part of an attempt's record that describes its outcome. */
export function recordedOutcome(
  outcome: ProbeOutcome,
): Pick<ProbeRecord, "result" | "output" | "killed"> {
  const output = outcome.kind === "error" ? outcome.message : outcome.output;
  return {
    result: outcome.kind,
    output: output.slice(0, MAX_OUTPUT_CHARS),
    ...(outcome.kind === "failure" && outcome.killed ? { killed: outcome.killed } : {}),
  };
}

/**
 * The last attempts of one probe, and how many there were in all. A node makes hundreds of attempts a second and
 * forgets each within seconds, so their numbers have fixed places and texts that repeat are kept once.
 */
export class ProbeLog {
  readonly #length: number;
  readonly #numbers: Float64Array;
  readonly #containerIds: string[] = [];
  readonly #outputs: string[] = [];
  /** Attempts that were ever recorded. */
  #kept = 0;
  #successful = 0;
  #failed = 0;
  #unknown = 0;
  #busyMs = 0;
  #killed = 0;

  /** Keeps the last `length` attempts. */
  constructor(length: number) {
    this.#length = length;
    this.#numbers = new Float64Array(length * COLUMNS);
  }

  get counts(): ProbeCounts {
    return { successful: this.#successful, failed: this.#failed, unknown: this.#unknown };
  }

  /** Time that all attempts took together. */
  get busyMs(): number {
    return this.#busyMs;
  }

  /** Processes that had to be ended after attempts that timed out. */
  get killed(): number {
    return this.#killed;
  }

  /** Oldest first. */
  get records(): readonly ProbeRecord[] {
    const count = Math.min(this.#kept, this.#length);
    return Array.from({ length: count }, (_, i) =>
      this.#record((this.#kept - count + i) % this.#length),
    );
  }

  keep(record: ProbeRecord): void {
    const { result, killed = 0 } = record;
    if (result === "error") this.#unknown += 1;
    else if (result === "failure") this.#failed += 1;
    else this.#successful += 1;
    this.#busyMs += record.durationMs;
    this.#killed += killed;
    if (this.#length === 0) return;
    const place = this.#kept % this.#length;
    const last = (this.#kept + this.#length - 1) % this.#length;
    this.#kept += 1;
    const from = place * COLUMNS;
    this.#numbers[from] = record.atMs;
    this.#numbers[from + 1] = record.durationMs;
    this.#numbers[from + 2] = record.lateMs;
    this.#numbers[from + 3] = RESULTS.indexOf(result);
    this.#numbers[from + 4] = killed;
    this.#containerIds[place] = record.containerId;
    const before = this.#outputs[last];
    this.#outputs[place] = before === record.output ? before : record.output;
  }

  #record(place: number): ProbeRecord {
    const from = place * COLUMNS;
    const [atMs = 0, durationMs = 0, lateMs = 0, result = 0, killed = 0] = this.#numbers.subarray(
      from,
      from + COLUMNS,
    );
    return {
      atMs: atMs as WallMs,
      durationMs,
      lateMs,
      containerId: this.#containerIds[place] ?? "",
      result: RESULTS[result] ?? "error",
      output: this.#outputs[place] ?? "",
      ...(killed > 0 ? { killed } : {}),
    };
  }
}
