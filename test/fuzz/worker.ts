// A thread that runs targets, so that one that hangs or needs too much memory can be ended and named.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { parentPort, workerData } from "node:worker_threads";
import { CodeCoverage } from "./coverage.ts";
import { type FuzzOptions, type FuzzReport, fuzz } from "./engine.ts";

/** What the thread is to do. */
export interface FuzzJob extends Omit<FuzzOptions, "onInput" | "coverage"> {
  readonly targets: readonly string[];
  /** Keeps inputs that cover new code, and changes them further. Some times slower. */
  readonly guided: boolean;
  /** Further inputs to start from, by target. */
  readonly extra?: Readonly<Record<string, readonly string[]>>;
  /** The input at work: its number, its length in bytes, its bytes. */
  readonly shared: SharedArrayBuffer;
}

/** What it says of each target. */
export type FuzzMessage =
  | { readonly kind: "begins"; readonly target: string }
  | { readonly kind: "done"; readonly report: FuzzReport; readonly heapBytes: number };

/** Where the number and the length of the input stand, in words of four bytes; its text follows. */
export const SHARED = { number: 0, length: 1, words: 2 } as const;

/** The file of the inputs of a target that were kept: a line of JSON for each, oldest first. */
export function corpusFile(name: string): string {
  return join(import.meta.dirname, "corpus", `${name}.txt`);
}

/** The inputs in it. */
export function corpusOf(name: string): readonly string[] {
  const path = corpusFile(name);
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as string);
}

async function work({ targets, shared, inputs, seed, guided, extra }: FuzzJob): Promise<void> {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  const words = new Int32Array(shared);
  const text = Buffer.from(shared, SHARED.words * 4);
  const onInput = (input: string) => {
    Atomics.store(words, SHARED.length, text.write(input));
    Atomics.add(words, SHARED.number, 1);
  };
  // Before the decoders are loaded: what is compiled earlier is counted by functions only.
  using coverage = guided ? new CodeCoverage() : undefined;
  const { TARGETS } = await import("./targets.ts");
  for (const target of TARGETS) {
    if (!targets.includes(target.name)) continue;
    say({ kind: "begins", target: target.name });
    const total = Math.ceil(inputs * (target.share ?? 1));
    const corpus = [...corpusOf(target.name), ...(extra?.[target.name] ?? [])];
    const run = { inputs: total, seed, onInput, ...(coverage ? { coverage } : {}) };
    const report = fuzz(target, corpus, run);
    gc();
    say({ kind: "done", report, heapBytes: process.memoryUsage().heapUsed });
  }
}

function say(message: FuzzMessage): void {
  parentPort?.postMessage(message);
}

if (workerData) await work(workerData as FuzzJob);
