/**
 * The journal of decisions. Owns: the files below its folder. In: decisions of every module and their
 * outcomes. Out: the history of a pod, also of what was decided before a restart. Invariants: recording never waits and
 * never throws; disk use is bounded; a torn last line costs that line only; a decision whose outcome was not recorded
 * is never read as carried out.
 *
 * Example:
 *     const journal = new Journal({ folder, segmentBytes: 1 << 20, segments: 4 }, { state, clock });
 *     await journal.open();
 *     const id = journal.record({ kind: "pod", name, uid }, decision);
 *     journal.conclude({ kind: "pod", name, uid }, id, outcome);
 */

import {
  type Decision,
  type DecisionOutcome,
  type DecisionRecord,
  hasOutcome,
  type RecordedOutcome,
} from "../../api/decisions.ts";
import type { DecisionSubject, Decisions } from "../../api/ports/decisions.ts";
import type { Clock } from "../../kit/clock.ts";
import { SegmentLog } from "../../kit/state/segment-log.ts";
import type { StateFiles } from "../../kit/state/state-files.ts";

/** Folder and bounds of the journal. */
interface JournalOptions {
  /** Absolute path of the folder; made when missing. */
  readonly folder: string;
  /** Size at which a new segment is begun. */
  readonly segmentBytes: number;
  /** Segments kept. */
  readonly segments: number;
}

interface JournalDeps {
  readonly state: StateFiles;
  readonly clock: Clock;
}

/** Object of a decision. */

/** Filter of `read`; all given fields must match. */
interface DecisionQuery {
  readonly uid?: string;
  /** `namespace/name`, or the name of an image or node. */
  readonly name?: string;
  /** The newest so many. */
  readonly limit?: number;
}

/**
 * The kind of a line that says what became of an earlier one. It has all that a decision has, so that agents of
 * other versions read it as one of a kind they do not know.
 */
const OUTCOME = "outcome";

const FILE = {
  name: "journal",
  holds: "decisions shown by nodelet why",
  important: true,
} as const;

/** See the head of this file. */
export class Journal implements Decisions {
  readonly #clock: Clock;
  readonly #lines: SegmentLog;
  #sequence = 0;
  /** The last sequence number of previous runs: the outcomes of decisions that they left pending stay unknown. */
  #before = 0;

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
    this.#before = this.#sequence;
  }

  /** Keeps a decision, made at `atMs`, by default now; the number is for `conclude`. */
  record(subject: DecisionSubject, decision: Decision, atMs: number = this.#clock.wall()): number {
    const { kind, rule, inputs } = decision;
    const pending = hasOutcome(kind) ? { outcome: { kind: "pending", atMs } as const } : {};
    return this.#append({ atMs, subject, kind, rule, inputs, ...pending });
  }

  /** Keeps what became of the decision of that number; the last word counts. */
  conclude(subject: DecisionSubject, of: number, outcome: DecisionOutcome): void {
    const { kind: rule, ...inputs } = outcome;
    const kind = OUTCOME as DecisionRecord["kind"];
    this.#append({ atMs: this.#clock.wall(), subject, kind, rule, inputs: { of, ...inputs } });
  }

  #append(record: Omit<DecisionRecord, "sequence">): number {
    this.#sequence += 1;
    const { atMs, ...rest } = record;
    this.#lines.append(JSON.stringify({ atMs, sequence: this.#sequence, ...rest }));
    return this.#sequence;
  }

  /** Writes what waits; resolves when it is on disk or was given up. */
  flush(): Promise<void> {
    return this.#lines.flush();
  }

  /** The decisions that match with their outcomes, oldest first. */
  async read(query: DecisionQuery): Promise<readonly DecisionRecord[]> {
    const lines = (await this.#lines.read()).flatMap(parseLine);
    const records = withOutcomes(lines).map((record) =>
      record.sequence <= this.#before ? asOfBefore(record) : record,
    );
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

/**
 * The decisions, each with the last recorded outcome. Numbers begin again where a segment was lost, so that an
 * outcome belongs to the decision before it.
 */
function withOutcomes(lines: readonly DecisionRecord[]): readonly DecisionRecord[] {
  const decisions: DecisionRecord[] = [];
  const places = new Map<number, number>();
  for (const line of lines) {
    if ((line.kind as string) !== OUTCOME) {
      places.set(line.sequence, decisions.length);
      decisions.push(line);
      continue;
    }
    const { of, ...more } = line.inputs;
    const place = places.get(of as number) ?? -1;
    const decision = decisions[place];
    if (!decision) continue;
    const outcome = { ...more, kind: line.rule, atMs: line.atMs } as unknown as RecordedOutcome;
    decisions[place] = { ...decision, outcome };
  }
  return decisions;
}

/** Outcomes of decisions that a previous run left pending stay unknown. */
function asOfBefore(record: DecisionRecord): DecisionRecord {
  const { outcome } = record;
  if (outcome?.kind !== "pending") return record;
  return { ...record, outcome: { kind: "unknown", atMs: outcome.atMs } };
}

/** A line torn by a crash, or written by another program, is not a decision. */
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
