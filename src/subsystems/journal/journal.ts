/**
 * The journal of decisions. Owns: the files below its folder. In: decisions of every room. Out: the
 * story of a pod, also of what was decided before a restart. Invariants: recording never waits and never
 * throws; disk use is bounded; a torn last line costs that line only.
 */
import type { Because, DecisionRecord } from "../../api/decisions.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import type { Files } from "../../outside/host/host.ts";

export interface JournalOptions {
  /** Absolute path of the folder; made when missing. */
  readonly folder: string;
  /** Size at which a new segment is begun. */
  readonly segmentBytes: number;
  /** Segments kept. */
  readonly segments: number;
}

export interface JournalDeps {
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
}

export type DecisionSubject = DecisionRecord["subject"];

/** What `read` looks for; everything given must match. */
export interface DecisionQuery {
  readonly uid?: string;
  /** `namespace/name`, or the name of an image or node. */
  readonly name?: string;
  /** The newest so many. */
  readonly limit?: number;
}

/** Lines wait this long for others before they are written. */
const FLUSH_MS = 50;
/** Lines that may wait while the disk does not take them; the oldest go first. */
const WAITING_LINES = 10_000;
const SEGMENT = /^decisions-(\d{8})\.jsonl$/;

export class Journal {
  readonly #options: JournalOptions;
  readonly #deps: JournalDeps;
  #waiting: string[] = [];
  #sequence = 0;
  #segment = 0;
  #segmentSize = 0;
  #cancelFlush: (() => void) | undefined;
  #writing: Promise<void> = Promise.resolve();
  #lost = 0;

  constructor(options: JournalOptions, deps: JournalDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Decisions that could not be kept because the disk did not take them. */
  get lost(): number {
    return this.#lost;
  }

  /** Finds the end of what an earlier life wrote; to be called once before anything else. */
  async open(): Promise<void> {
    await this.#deps.files.makeDirectory(this.#options.folder, 0o700);
    const segments = await this.#segments();
    const last = segments.at(-1);
    if (last === undefined) return;
    this.#segment = last;
    const records = await this.#readSegment(last);
    this.#sequence = records.at(-1)?.sequence ?? 0;
    this.#segmentSize = (await this.#deps.files.facts(this.#path(last)))?.sizeBytes ?? 0;
  }

  /** Keeps a decision. */
  record(subject: DecisionSubject, because: Because): void {
    this.#sequence += 1;
    const record: DecisionRecord = {
      atMs: this.#deps.clock.wall(),
      sequence: this.#sequence,
      subject,
      kind: because.kind,
      rule: because.rule,
      inputs: because.inputs,
    };
    this.#waiting.push(`${JSON.stringify(record)}\n`);
    if (this.#waiting.length > WAITING_LINES) {
      this.#waiting.shift();
      this.#lost += 1;
    }
    this.#cancelFlush ??= this.#deps.clock.alarm(FLUSH_MS, () => {
      this.#cancelFlush = undefined;
      void this.flush();
    });
  }

  /** Writes what waits; resolves when it is on disk or was given up. */
  flush(): Promise<void> {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  /** The decisions that match, oldest first. */
  async read(query: DecisionQuery): Promise<readonly DecisionRecord[]> {
    await this.flush();
    const matching: DecisionRecord[] = [];
    for (const segment of await this.#segments()) {
      for (const record of await this.#readSegment(segment))
        if (matches(record, query)) matching.push(record);
    }
    return query.limit === undefined ? matching : matching.slice(-query.limit);
  }

  async #write(): Promise<void> {
    const lines = this.#waiting;
    if (lines.length === 0) return;
    this.#waiting = [];
    try {
      if (this.#segmentSize > this.#options.segmentBytes) await this.#beginSegment();
      const text = lines.join("");
      await this.#deps.files.append(this.#path(this.#segment), text, 0o600);
      this.#segmentSize += Buffer.byteLength(text);
    } catch (error) {
      this.#lost += lines.length;
      this.#deps.log.error("decisions could not be written", { count: lines.length, error });
    }
  }

  async #beginSegment(): Promise<void> {
    this.#segment += 1;
    this.#segmentSize = 0;
    const kept = this.#options.segments - 1;
    for (const old of (await this.#segments()).slice(0, -kept))
      await this.#deps.files.remove(this.#path(old));
  }

  async #segments(): Promise<readonly number[]> {
    const entries = (await this.#deps.files.list(this.#options.folder)) ?? [];
    const numbers = entries.flatMap(({ name }) => {
      const match = SEGMENT.exec(name);
      return match ? [Number(match[1])] : [];
    });
    return numbers.sort((a, b) => a - b);
  }

  async #readSegment(segment: number): Promise<readonly DecisionRecord[]> {
    const maxBytes = this.#options.segmentBytes * 2 + 1_000_000;
    const text = (await this.#deps.files.readText(this.#path(segment), { maxBytes })) ?? "";
    return text.split("\n").flatMap((line) => {
      const record = parseLine(line);
      return record ? [record] : [];
    });
  }

  #path(segment: number): string {
    return `${this.#options.folder}/decisions-${String(segment).padStart(8, "0")}.jsonl`;
  }
}

function matches(record: DecisionRecord, { uid, name }: DecisionQuery): boolean {
  return (
    (uid === undefined || record.subject.uid === uid) &&
    (name === undefined || record.subject.name === name)
  );
}

/** A line that a crash tore, or that somebody else wrote, is no decision. */
function parseLine(line: string): DecisionRecord | undefined {
  if (line === "") return undefined;
  try {
    const value = JSON.parse(line) as Partial<DecisionRecord> | null;
    const complete =
      typeof value?.atMs === "number" &&
      typeof value.sequence === "number" &&
      typeof value.kind === "string" &&
      typeof value.rule === "string" &&
      typeof value.subject?.name === "string" &&
      typeof value.inputs === "object";
    return complete ? (value as DecisionRecord) : undefined;
  } catch {
    return undefined;
  }
}
