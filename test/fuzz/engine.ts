// Feeds a decoder with inputs that are almost right, and judges what comes of them.
import { createSeededRandom, type Random } from "../../src/kit/random.ts";
import type { CodeCoverage } from "./coverage.ts";
import { mutateLaidOut } from "./mutate-bytes.ts";
import { mutateJson } from "./mutate-json.ts";
import { mutateText, pick } from "./mutate-text.ts";
import type { FuzzTarget } from "./target.ts";

/** An input for which a target did what it must not do. */
export interface Find {
  readonly target: string;
  /** As seeds are written: text, or base64. */
  readonly input: string;
  readonly why: string;
}

/** What a run showed. */
export interface FuzzReport {
  readonly target: string;
  readonly inputs: number;
  /** Inputs that were refused with an error of the decoder. */
  readonly refused: number;
  readonly seconds: number;
  readonly slowestMs: number;
  readonly finds: readonly Find[];
  /** Characters of the source covered in the guided part, and the inputs that were kept for covering new ones. */
  readonly covered: number;
  readonly kept: readonly string[];
}

/** How a target is run. */
export interface FuzzOptions {
  readonly inputs: number;
  readonly seed: number;
  /** With it, inputs that cover new code are kept and changed further. */
  readonly coverage?: CodeCoverage;
  /** Called with each input before it is decoded. */
  readonly onInput?: (input: string) => void;
}

/** An input may take so long. */
export const LIMIT_MS = 1_000;
/** Finds with the same reason are the same; more reasons than this end a run. */
const MAX_FINDS = 10;
/** Longest message of a refusal: it goes to logs and events. */
const MAX_MESSAGE = 128 * 1024;
/** Inputs after which coverage is asked for, which takes milliseconds. */
const BATCH = 100;
const MAX_CORPUS = 2_000;

/** Runs a target on its seeds and on `inputs` changes of them. The same options give the same inputs. */
export function fuzz(
  target: FuzzTarget,
  corpus: readonly string[],
  options: FuzzOptions,
): FuzzReport {
  const random = createSeededRandom(options.seed);
  const judge = new Judge(target, options.onInput);
  const seeds = [...target.seeds, ...corpus];
  const started = performance.now();
  const { coverage } = options;
  coverage?.begin(target.files);
  for (const seed of seeds) judge.run(seed);
  coverage?.takeNew();
  const kept: string[] = [];
  while (judge.inputs < options.inputs && judge.finds.length < MAX_FINDS) {
    const size = coverage ? BATCH : 1;
    const pool = kept.length === 0 ? seeds : [...seeds, ...kept];
    const batch = Array.from({ length: size }, () => changed(target, pool, random));
    if (coverage && kept.length < MAX_CORPUS)
      kept.push(...coveringNew(coverage, batch, (input) => judge.run(input)));
    else for (const input of batch) judge.run(input);
  }
  return {
    target: target.name,
    inputs: judge.inputs,
    refused: judge.refused,
    seconds: (performance.now() - started) / 1000,
    slowestMs: judge.slowestMs,
    finds: judge.finds,
    covered: coverage?.size ?? 0,
    kept,
  };
}

/** Runs one input of a target; what it should not do is thrown. For finds of the past. */
export function runOnce(target: FuzzTarget, input: string): void {
  const judge = new Judge(target);
  judge.run(input);
  const [find] = judge.finds;
  if (find) throw new Error(`${target.name}: ${find.why}\n${input.slice(0, 2_000)}`);
}

function changed(target: FuzzTarget, pool: readonly string[], random: Random): string {
  const { layout, words = [] } = target;
  const [input, other] = [pick(random, pool), pick(random, pool)];
  if (layout === "text") return mutateText(random, input, other, words);
  if (layout === "json") return mutateJson(random, input, other, words);
  const bytes = (text: string) => Buffer.from(text, "base64");
  return mutateLaidOut(random, layout, bytes(input), bytes(other)).toString("base64");
}

/** The inputs of a batch that cover what none before them did; after that it counts as known. */
function coveringNew(
  coverage: CodeCoverage,
  batch: readonly string[],
  run: (input: string) => void,
): readonly string[] {
  for (const input of batch) run(input);
  const added = coverage.takeNew();
  if (added.length === 0 || batch.length === 1) return added.length === 0 ? [] : batch;
  coverage.forget(added);
  const half = Math.ceil(batch.length / 2);
  const found = [batch.slice(0, half), batch.slice(half)].flatMap((part) =>
    coveringNew(coverage, part, run),
  );
  // What a decoder does only once, such as filling a cache, is covered by no input a second time.
  coverage.keep(added);
  return found;
}

/** Runs inputs of one target, and keeps what they should not do. */
class Judge {
  readonly #target: FuzzTarget;
  readonly #onInput: ((input: string) => void) | undefined;
  readonly #reasons = new Set<string>();
  readonly finds: Find[] = [];
  inputs = 0;
  refused = 0;
  slowestMs = 0;

  constructor(target: FuzzTarget, onInput?: (input: string) => void) {
    this.#target = target;
    this.#onInput = onInput;
  }

  run(input: string): void {
    const { layout } = this.#target;
    this.inputs += 1;
    this.#onInput?.(input);
    const decoded = layout === "text" || layout === "json" ? input : bytesOf(input);
    let tookMs = this.#time(decoded, input);
    // On a busy machine any input may take long once.
    for (let again = 0; tookMs > LIMIT_MS && again < 3; again += 1)
      tookMs = Math.min(tookMs, this.#time(decoded, input));
    if (tookMs > this.slowestMs) this.slowestMs = tookMs;
    if (tookMs > LIMIT_MS) this.#find(input, `took ${Math.round(tookMs)} ms`, "slow");
    const leaked = leakedNames();
    if (leaked !== undefined) this.#find(input, `Object.prototype has ${leaked}`, "polluted");
  }

  /** Decodes the input and judges what was thrown; how long it took in milliseconds. */
  #time(decoded: string | Uint8Array, input: string): number {
    const began = performance.now();
    try {
      this.#target.run(decoded as never);
    } catch (error) {
      this.#judge(error, input);
    }
    return performance.now() - began;
  }

  #judge(error: unknown, input: string): void {
    const { refuses = [] } = this.#target;
    if (!(error instanceof Error)) {
      this.#find(input, `threw ${String(error)}`, "no error");
      return;
    }
    const own = refuses.some((kind) => error.constructor === kind || isOwn(error, kind));
    if (!own) {
      const [, at = ""] = /\n +at (.*)/.exec(error.stack ?? "") ?? [];
      this.#find(input, `${error.stack ?? error}`, `${error.name} ${at}`);
      return;
    }
    this.refused += 1;
    const { message } = error;
    if (message === "" || message.length > MAX_MESSAGE)
      this.#find(input, `a message of ${message.length} characters`, "message");
    if (message.includes("[object Object]") && !input.includes("[object Object]"))
      this.#find(input, `the message is ${message}`, "object in message");
  }

  #find(input: string, why: string, reason: string): void {
    if (this.#reasons.has(reason)) return;
    this.#reasons.add(reason);
    this.finds.push({ target: this.#target.name, input, why });
  }
}

/** Subclasses count, but an error of the language is never meant by its base class. */
function isOwn(error: Error, kind: abstract new (...args: never[]) => Error): boolean {
  return error instanceof kind && kind !== Error;
}

function bytesOf(base64: string): Uint8Array {
  // A copy of its own: a decoder that reads beyond its view is found.
  return Uint8Array.from(Buffer.from(base64, "base64"));
}

const CLEAN = Reflect.ownKeys(Object.prototype).length;

/** What was put into the object that all others inherit from; it is taken out again. */
function leakedNames(): string | undefined {
  if (Reflect.ownKeys(Object.prototype).length === CLEAN) return undefined;
  const names = Object.keys(Object.prototype);
  for (const name of names) Reflect.deleteProperty(Object.prototype, name);
  return names.join(", ");
}
