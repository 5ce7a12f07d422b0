import type { CoreEvent } from "../../api/generated/types.ts";
import type { Clock } from "../../kit/clock.ts";
import { SerialQueue } from "../../kit/limits/serial-queue.ts";
import type { StateFile, StateFiles } from "../../kit/state/state-files.ts";
import { NEVER_ABORTED } from "../../kit/within.ts";
import type { EventWrite } from "./event-api.ts";
import { MAX_DEFERRED_MS, type Outbox, type OutboxEntry } from "./outbox.ts";

/** Events lost while the API server was unreachable. */
export interface LostEvents {
  /** Time of the first and of the last of them, RFC 3339. */
  readonly from: string;
  readonly to: string;
  readonly count: number;
  /** Reasons of the events, most frequent first. */
  readonly reasons: readonly (readonly [reason: string, count: number])[];
}

/** File of the waiting events. */
interface SpoolOptions {
  /** Absolute path of the file; its folder is made when missing. */
  readonly path: string;
}

interface SpoolDeps {
  readonly state: StateFiles;
  readonly clock: Clock;
  /** Called for every entry that is on disk now. */
  readonly onSpooled: (entry: OutboxEntry) => void;
}

/** Events left by a previous run. */
interface SpoolContent {
  readonly entries: readonly EventWrite[];
  readonly lost: LostEvents | undefined;
}

/**
 * Events that have waited this long, beside the time for which they may be deferred, are written to disk; with a
 * reachable API server hardly any are.
 */
const TIMEOUT_MS = 1_000;
/** Lines that are out of date before the file is rewritten. */
const STALE_LINES = 512;
/** Lines that are made before others get a turn of the process. */
const SLICE = 500;
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
const MAX_BYTES = 256 * 1024 * 1024;

type Line =
  /** An event that waits, under the number `o`. */
  | { readonly o: number; readonly e: CoreEvent; readonly p?: EventWrite["patch"] }
  /** The numbered ones wait no more. */
  | { readonly x: readonly number[] }
  | { readonly lost: LostEvents | null };

/**
 * The waiting events on disk: a file that is appended to, and rewritten when most of it is out of date.
 * It follows the outbox by a second; what the disk does not take is still in memory.
 */
export class Spool {
  readonly #options: SpoolOptions;
  readonly #deps: SpoolDeps;
  /** Orders of entries in the file that count. */
  readonly #held = new Set<number>();
  #outbox: Outbox | undefined;
  #lostOf: () => LostEvents | undefined = () => undefined;
  #lines = 0;
  #lostText = "null";
  #cancel: (() => void) | undefined;
  readonly #writes = new SerialQueue();
  #failing = false;

  constructor(options: SpoolOptions, deps: SpoolDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  get #file(): StateFile {
    const holds = "events that waited for the API server";
    return { name: "waiting_events", path: this.#options.path, holds };
  }

  /** Reads what is there; from now on the file follows `outbox`, and `lostOf` for what was lost. */
  async open(outbox: Outbox, lostOf: () => LostEvents | undefined): Promise<SpoolContent> {
    this.#outbox = outbox;
    this.#lostOf = lostOf;
    const { path } = this.#options;
    const { state } = this.#deps;
    const folder = { ...this.#file, path: path.slice(0, path.lastIndexOf("/")) };
    await state.makeFolder(folder, FOLDER_MODE);
    const limits = { maxBytes: MAX_BYTES, mode: FILE_MODE };
    const text = await state.readLines(this.#file, limits, (line) => parseLine(line).length > 0);
    const entries = new Map<number, EventWrite>();
    let lost: LostEvents | undefined;
    for (const line of text.split("\n").flatMap(parseLine)) {
      if ("x" in line) for (const order of line.x) entries.delete(order);
      else if ("lost" in line) lost = line.lost ?? undefined;
      else entries.set(line.o, { event: line.e, patch: line.p });
    }
    // The numbers of that life mean nothing in this one: the file is rewritten.
    this.#lines = text === "" ? 0 : Number.POSITIVE_INFINITY;
    return { entries: [...entries.values()], lost };
  }

  /** The outbox has changed; the file will follow. */
  changed(): void {
    this.#cancel ??= this.#deps.clock.alarm(TIMEOUT_MS, () => {
      this.#cancel = undefined;
      void this.sync(false);
    });
  }

  /** Makes the file follow now; with `all` also for what has just begun to wait. */
  sync(all: boolean): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    return this.#writes.run(() => this.#sync(all));
  }

  async #sync(all: boolean): Promise<void> {
    const outbox = this.#outbox;
    if (!outbox) return;
    const before = this.#deps.clock.monotonic() - TIMEOUT_MS;
    const isDue = ({ since, deferred }: OutboxEntry) =>
      since <= (deferred ? before - MAX_DEFERRED_MS : before);
    const fresh: OutboxEntry[] = [];
    let young = 0;
    for (const entry of outbox.entries()) {
      if (this.#held.has(entry.order)) continue;
      if (all || entry.spooled || isDue(entry)) fresh.push(entry);
      else young += 1;
    }
    try {
      await this.#follow(fresh, outbox);
      for (const entry of fresh) this.#hold(entry);
      this.#failing = false;
    } catch {
      // The state files report failed writes.
      this.#failing = true;
    }
    if (young > 0 || this.#failing) this.changed();
  }

  async #follow(fresh: readonly OutboxEntry[], outbox: Outbox): Promise<void> {
    const { state } = this.#deps;
    const lost = this.#lostOf();
    const gone = [...this.#held].filter((order) => !outbox.has(order));
    const lostText = JSON.stringify(lost ?? null);
    const left = this.#held.size - gone.length + fresh.length;
    if (left === 0 && lost === undefined) {
      if (this.#lines > 0) await state.remove(this.#file);
      this.#lines = 0;
    } else if (this.#lines + fresh.length > 2 * left + STALE_LINES) {
      const rewritten = new Set(fresh);
      const held = [...outbox.entries()].filter(
        (entry) => this.#held.has(entry.order) || rewritten.has(entry),
      );
      const lines = [...(await this.#linesOf(held)), `{"lost":${lostText}}`];
      await state.write(this.#file, `${lines.join("\n")}\n`, FILE_MODE);
      this.#lines = lines.length;
    } else {
      const lines = [
        ...(gone.length > 0 ? [JSON.stringify({ x: gone })] : []),
        ...(await this.#linesOf(fresh)),
        ...(lostText === this.#lostText ? [] : [`{"lost":${lostText}}`]),
      ];
      // A line that a crash has torn must not take the next one along.
      if (lines.length > 0) await state.append(this.#file, `\n${lines.join("\n")}\n`, FILE_MODE);
      this.#lines += lines.length;
    }
    for (const order of gone) this.#held.delete(order);
    this.#lostText = lostText;
  }

  /** Thousands of lines at once would block the event loop. */
  async #linesOf(entries: readonly OutboxEntry[]): Promise<readonly string[]> {
    const lines: string[] = [];
    for (const entry of entries) {
      const line = entryLine(entry);
      // It would be damage at the next start.
      if (parseLine(line).length > 0) lines.push(line);
      if (lines.length % SLICE === 0) await this.#deps.clock.sleep(0, NEVER_ABORTED);
    }
    return lines;
  }

  #hold(entry: OutboxEntry): void {
    this.#held.add(entry.order);
    // It may have arrived while it was written here.
    if (!this.#outbox?.has(entry.order)) return;
    const isNew = !entry.spooled;
    entry.spooled = true;
    if (isNew) this.#deps.onSpooled(entry);
  }
}

function entryLine({ order, event, patch }: OutboxEntry): string {
  const line: Line = { o: order, e: event, ...(patch ? { p: patch } : {}) };
  return JSON.stringify(line);
}

/** A torn or foreign line is ignored. */
function parseLine(text: string): readonly Line[] {
  if (text === "") return [];
  try {
    const value = JSON.parse(text) as { readonly [key: string]: unknown } | null;
    if (Array.isArray(value?.["x"])) return [value as Line];
    if (value && "lost" in value) return [value as Line];
    const event = value?.["e"] as Partial<CoreEvent> | undefined;
    const whole =
      typeof value?.["o"] === "number" &&
      typeof event?.metadata?.name === "string" &&
      typeof event.involvedObject === "object";
    return whole ? [value as Line] : [];
  } catch {
    return [];
  }
}
