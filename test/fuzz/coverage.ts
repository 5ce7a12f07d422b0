// Which characters of the source files a target is about were run, by V8's own counts.
import { type Profiler, Session } from "node:inspector";

/** Capacity for the characters of one file. Generated code has more than a million; what lies beyond is not counted. */
const FILE_CAPACITY = 2 ** 21;

/**
 * The code that was run since the start. V8 reports it by ranges, which it divides differently whenever their counts differ;
 * characters say the same each time. To ask takes milliseconds, and counting makes code some times slower.
 */
export class CodeCoverage implements Disposable {
  readonly #session = new Session();
  #files: readonly string[] = [];
  /** 1 for each character that was run, file after file. */
  #seen = new Uint8Array(0);
  #size = 0;

  constructor() {
    this.#session.connect();
    this.#session.post("Profiler.enable");
    this.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  }

  /** Counts only files in whose paths one of `files` occurs, and nothing of them as run yet. */
  begin(files: readonly string[]): void {
    this.#files = files;
    this.#seen = new Uint8Array(files.length * FILE_CAPACITY);
    this.#size = 0;
    this.takeNew();
  }

  /** How many characters were run. */
  get size(): number {
    return this.#size;
  }

  /** The characters that were run for the first time since it was last asked. */
  takeNew(): readonly number[] {
    const added: number[] = [];
    this.#session.post("Profiler.takePreciseCoverage", (error, answer) => {
      if (error) throw error;
      for (const script of answer.result) this.#keep(script, added);
    });
    this.#size += added.length;
    return added;
  }

  /** Has these characters count as not run yet. */
  forget(characters: readonly number[]): void {
    for (const at of characters) this.#size -= this.#seen[at] ?? 0;
    for (const at of characters) this.#seen[at] = 0;
  }

  /** Has these characters count as run. */
  keep(characters: readonly number[]): void {
    for (const at of characters) this.#size += 1 - (this.#seen[at] ?? 1);
    for (const at of characters) this.#seen[at] = 1;
  }

  #keep({ url, functions }: Profiler.ScriptCoverage, added: number[]): void {
    const file = this.#files.findIndex((end) => url.includes(end));
    if (file < 0) return;
    const base = file * FILE_CAPACITY;
    const ran = new Uint8Array(
      Math.min(
        FILE_CAPACITY,
        Math.max(...functions.map(({ ranges }) => ranges[0]?.endOffset ?? 0)),
      ),
    );
    // Ranges stand within those before them, and say it more exactly.
    for (const { ranges } of functions)
      for (const { startOffset, endOffset, count } of ranges)
        ran.fill(count === 0 ? 0 : 1, startOffset, endOffset);
    for (let at = ran.indexOf(1); at >= 0; at = ran.indexOf(1, at + 1)) {
      if (this.#seen[base + at] === 1) continue;
      this.#seen[base + at] = 1;
      added.push(base + at);
    }
  }

  [Symbol.dispose](): void {
    this.#session.post("Profiler.stopPreciseCoverage");
    this.#session.disconnect();
  }
}
