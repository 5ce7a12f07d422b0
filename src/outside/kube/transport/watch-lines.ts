import { InvariantError } from "../../../kit/errors.ts";
import { LineSplitter } from "./json-lines.ts";

/** Lines that wait for their reader before the server has to wait, in characters; its window comes on top. */
const MAX_WAITING = 256 * 1024;

/** The stream of a watch. */
interface LineSource {
  pause(): void;
  resume(): void;
  /** The reader needs no more. May be called when the stream is over. */
  cancel(): void;
}

type Result = IteratorResult<string, undefined>;

const DONE: Result = { done: true, value: undefined };

/** The lines of an answer that goes on, for one reader. */
export class WatchLines implements AsyncIterableIterator<string, undefined> {
  readonly #source: LineSource;
  readonly #splitter = new LineSplitter();
  /** Lines that nobody has taken, from `#next` on. */
  #lines: string[] = [];
  #next = 0;
  #waitingLength = 0;
  #isPaused = false;
  #reader:
    | { readonly take: (result: Result) => void; readonly fail: (error: Error) => void }
    | undefined;
  #end: { readonly error: Error | undefined } | undefined;

  constructor(source: LineSource) {
    this.#source = source;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Adds a piece of the answer. Throws `OutsideError` for a line that is too long. */
  push(piece: Uint8Array): void {
    if (this.#end) return;
    for (const line of this.#splitter.push(piece)) this.#add(line);
    if (this.#waitingLength <= MAX_WAITING || this.#isPaused) return;
    this.#isPaused = true;
    this.#source.pause();
  }

  /** The answer is over: what it brought can still be read. With an error the reader gets it then. */
  finish(error?: Error): void {
    if (this.#end) return;
    const rest = error === undefined ? this.#splitter.rest() : "";
    if (rest !== "") this.#add(rest);
    this.#conclude(error);
  }

  /** What follows is not needed, and neither is a line that is not whole. */
  stop(): void {
    if (!this.#end) this.#conclude(undefined);
  }

  /** The reader gets the error next. */
  abort(error: Error): void {
    this.#drop();
    this.finish(error);
  }

  next(): Promise<Result> {
    const line = this.#lines[this.#next];
    if (line !== undefined) {
      this.#take(line);
      return Promise.resolve({ done: false, value: line });
    }
    const end = this.#end;
    if (end) {
      this.#end = { error: undefined };
      return end.error === undefined ? Promise.resolve(DONE) : Promise.reject(end.error);
    }
    if (this.#reader) return Promise.reject(new InvariantError("lines have one reader"));
    return new Promise((take, fail) => {
      this.#reader = { take, fail };
    });
  }

  return(): Promise<Result> {
    this.#drop();
    this.#conclude(undefined);
    this.#source.cancel();
    return Promise.resolve(DONE);
  }

  #conclude(error: Error | undefined): void {
    this.#end = { error };
    const reader = this.#reader;
    this.#reader = undefined;
    if (error === undefined) reader?.take(DONE);
    else reader?.fail(error);
  }

  #add(line: string): void {
    const reader = this.#reader;
    if (reader) {
      this.#reader = undefined;
      reader.take({ done: false, value: line });
      return;
    }
    this.#lines.push(line);
    this.#waitingLength += line.length;
  }

  #take(line: string): void {
    this.#next += 1;
    this.#waitingLength -= line.length;
    if (this.#next < this.#lines.length) return;
    this.#drop();
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#source.resume();
  }

  #drop(): void {
    this.#lines = [];
    this.#next = 0;
    this.#waitingLength = 0;
  }
}
