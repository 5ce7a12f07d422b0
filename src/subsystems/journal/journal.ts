/**
 * The journal of decisions. Owns: the files below its folder. In: decisions of every module. Out: the
 * story of a pod, also of what was decided before a restart. Invariants: recording never waits and never
 * throws; disk use is bounded; a torn last line costs that line only.
 */
import type { Because, DecisionRecord } from "../../api/decisions.ts";
import type { Clock } from "../../kit/clock.ts";
import { SegmentLog } from "../../kit/state/segment-log.ts";
import type { StateFiles } from "../../kit/state/state-files.ts";

/** Where the journal is and how much of it. */
export interface JournalOptions {
  /** Absolute path of the folder; made when missing. */
  readonly folder: string;
  /** Size at which a new segment is begun. */
  readonly segmentBytes: number;
  /** Segments kept. */
  readonly segments: number;
}

/** What the journal needs. */
export interface JournalDeps {
  readonly state: StateFiles;
  readonly clock: Clock;
}

/** What a decision is on. */
export type DecisionSubject = DecisionRecord["subject"];

/** What `read` looks for; everything given must match. */
export interface DecisionQuery {
  readonly uid?: string;
  /** `namespace/name`, or the name of an image or node. */
  readonly name?: string;
  /** The newest so many. */
  readonly limit?: number;
}

const FILE = {
  name: "journal",
  holds: "decisions that nodelet why tells",
  important: true,
} as const;

/** See the head of this file. */
export class Journal {
  readonly #clock: Clock;
  readonly #lines: SegmentLog;
  #sequence = 0;

  constructor(options: JournalOptions, { state, clock }: JournalDeps) {
    this.#clock = clock;
    const isLine = (line: string) => parseLine(line).length > 0;
    const log = { ...options, prefix: "decisions", file: FILE, isLine };
    this.#lines = new SegmentLog(log, { state, clock });
  }

  /** Decisions that could not be kept because the disk did not take them. */
  get lost(): number {
    return this.#lines.lost;
  }

  /** Finds the end of what a previous run wrote; to be called once before anything else. */
  async open(): Promise<void> {
    const records = (await this.#lines.open()).flatMap(parseLine);
    this.#sequence = records.at(-1)?.sequence ?? 0;
  }

  /** Keeps a decision. */
  record(subject: DecisionSubject, because: Because): void {
    this.#sequence += 1;
    const record: DecisionRecord = {
      atMs: this.#clock.wall(),
      sequence: this.#sequence,
      subject,
      kind: because.kind,
      rule: because.rule,
      inputs: because.inputs,
    };
    this.#lines.append(JSON.stringify(record));
  }

  /** Writes what waits; resolves when it is on disk or was given up. */
  flush(): Promise<void> {
    return this.#lines.flush();
  }

  /** The decisions that match, oldest first. */
  async read(query: DecisionQuery): Promise<readonly DecisionRecord[]> {
    const records = (await this.#lines.read()).flatMap(parseLine);
    const matching = records.filter((record) => matches(record, query));
    return query.limit === undefined ? matching : matching.slice(-query.limit);
  }
}

function matches(record: DecisionRecord, { uid, name }: DecisionQuery): boolean {
  return (
    (uid === undefined || record.subject.uid === uid) &&
    (name === undefined || record.subject.name === name)
  );
}

/** A line that a crash tore, or that somebody else wrote, is no decision. */
function parseLine(line: string): readonly DecisionRecord[] {
  try {
    const value = JSON.parse(line) as Partial<DecisionRecord> | null;
    const complete =
      typeof value?.atMs === "number" &&
      typeof value.sequence === "number" &&
      typeof value.kind === "string" &&
      typeof value.rule === "string" &&
      typeof value.subject?.name === "string" &&
      typeof value.inputs === "object";
    return complete ? [value as DecisionRecord] : [];
  } catch {
    return [];
  }
}
