// Seeds of a scenario: many of them in threads, few of them here, as each thread has to load and compile the agent again.
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";

/** Counts by name that a scenario adds to, e.g. pods that ended well. */
export type Tally = Record<string, number>;

/** What is played: an export of a module that takes a seed and a tally, and throws when the seed fails. */
export interface Play {
  readonly module: URL;
  readonly name: string;
  readonly first: number;
  readonly count: number;
  /** What is counted, from what it begins. */
  readonly tally?: Tally;
}

/** Up to so many seeds no thread is worth its start, which costs as much as five of them. */
const MAX_SEEDS_HERE = 60;

/** Seeds of a thread: every `step`th from `first`, below `end`. */
export interface ThreadOptions {
  readonly module: string;
  readonly name: string;
  readonly first: number;
  readonly end: number;
  readonly step: number;
  readonly tally: Tally;
}

type Scenario = (seed: number, tally: Tally) => Promise<void>;

/** What a thread answers. */
export type ThreadAnswer =
  | { readonly kind: "done"; readonly tally: Tally }
  | { readonly kind: "failed"; readonly text: string };

/** Plays all seeds; resolves with the sums, rejects with what the first seed that failed reported. */
export async function playSeeds({ module, name, first, count, tally = {} }: Play): Promise<Tally> {
  if (count <= MAX_SEEDS_HERE) {
    const sums = { ...tally };
    await playEach({ module: module.href, name, first, end: first + count, step: 1, tally: sums });
    return sums;
  }
  const step = availableParallelism();
  const threads: Worker[] = [];
  const answers = Array.from({ length: step }, (_, i) => {
    const options: ThreadOptions = {
      module: module.href,
      name,
      first: first + i,
      end: first + count,
      step,
      tally,
    };
    const thread = new Worker(new URL("./seed-worker.ts", import.meta.url), {
      workerData: options,
    });
    threads.push(thread);
    return answerOf(thread);
  });
  try {
    return (await Promise.all(answers)).reduce(added, {});
  } finally {
    await Promise.allSettled(threads.map((thread) => thread.terminate()));
  }
}

/** Plays the seeds of one thread, adding to its tally. */
export async function playEach(options: ThreadOptions): Promise<void> {
  const { module, name, first, end, step, tally } = options;
  const play = ((await import(module)) as Readonly<Record<string, Scenario>>)[name];
  if (!play) throw new Error(`${module} has no ${name}`);
  for (let seed = first; seed < end; seed += step) await play(seed, tally);
}

function answerOf(thread: Worker): Promise<Tally> {
  return new Promise((resolve, reject) => {
    thread.once("message", (answer: ThreadAnswer) => {
      if (answer.kind === "done") resolve(answer.tally);
      else reject(new Error(answer.text));
    });
    thread.once("error", reject);
    thread.once("exit", (code) => reject(new Error(`a thread ended with ${code} and no answer`)));
  });
}

function added(sum: Tally, more: Tally): Tally {
  const next = { ...sum };
  for (const [name, count] of Object.entries(more)) next[name] = (next[name] ?? 0) + count;
  return next;
}
