// Which blocks of the source files a target is about were run, by V8's own counts.
import { type Profiler, Session } from "node:inspector";

/** Blocks that were run since the start. Counting makes code some times slower. */
export class BlockCoverage implements Disposable {
  readonly #session = new Session();
  #files: readonly string[] = [];
  #seen = new Set<string>();

  constructor() {
    this.#session.connect();
    this.#session.post("Profiler.enable");
    this.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  }

  /** Counts only blocks of files in whose paths one of `files` occurs, and none as run yet. */
  begin(files: readonly string[]): void {
    this.#files = files;
    this.#seen = new Set();
    this.takeNew();
  }

  /** How many blocks are known. */
  get size(): number {
    return this.#seen.size;
  }

  /** The blocks that were run for the first time since it was last asked. */
  takeNew(): readonly string[] {
    const added: string[] = [];
    this.#session.post("Profiler.takePreciseCoverage", (error, answer) => {
      if (error) throw error;
      for (const script of answer.result) this.#keep(script, added);
    });
    return added;
  }

  /** Has these blocks count as not run yet. */
  forget(blocks: readonly string[]): void {
    for (const block of blocks) this.#seen.delete(block);
  }

  #keep({ url, functions }: Profiler.ScriptCoverage, added: string[]): void {
    const file = this.#files.find((end) => url.includes(end));
    if (file === undefined) return;
    for (const { ranges } of functions)
      for (const { startOffset, endOffset, count } of ranges) {
        const block = `${file}:${startOffset}-${endOffset}`;
        if (count === 0 || this.#seen.has(block)) continue;
        this.#seen.add(block);
        added.push(block);
      }
  }

  [Symbol.dispose](): void {
    this.#session.post("Profiler.stopPreciseCoverage");
    this.#session.disconnect();
  }
}
