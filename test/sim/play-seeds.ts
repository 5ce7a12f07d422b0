// Many seeds of a scenario in threads, one for each core: there the hooks by which the test runner follows
// every promise are not in the way, which cost more than the simulation itself.
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

/** Seeds of a thread: every `step`th from `first`, below `end`. */
export interface ThreadOptions {
  readonly module: string;
  readonly name: string;
  readonly first: number;
  readonly end: number;
  readonly step: number;
  readonly tally: Tally;
}

/** What a thread answers. */
export type ThreadAnswer =
  | { readonly kind: "done"; readonly tally: Tally }
  | { readonly kind: "failed"; readonly text: string };

/** Plays all seeds; resolves with the sums, rejects with what the first seed that failed reported. */
export async function playSeeds({ module, name, first, count, tally = {} }: Play): Promise<Tally> {
  const step = Math.min(availableParallelism(), Math.max(count, 1));
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
