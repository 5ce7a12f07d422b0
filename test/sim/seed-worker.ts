// A thread of play-seeds.ts.
import { parentPort, workerData } from "node:worker_threads";
import type { Tally, ThreadAnswer, ThreadOptions } from "./play-seeds.ts";

const { module, name, first, end, step, tally } = workerData as ThreadOptions;
const answer = (given: ThreadAnswer) => parentPort?.postMessage(given);

type Scenario = (seed: number, tally: Tally) => Promise<void>;
const play = ((await import(module)) as Readonly<Record<string, Scenario>>)[name];
if (!play) throw new Error(`${module} has no ${name}`);

try {
  for (let seed = first; seed < end; seed += step) await play(seed, tally);
  answer({ kind: "done", tally });
} catch (error) {
  answer({ kind: "failed", text: error instanceof Error ? `${error.stack}` : String(error) });
}
