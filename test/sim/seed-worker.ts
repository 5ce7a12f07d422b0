// A thread of play-seeds.ts.
import { parentPort, workerData } from "node:worker_threads";
import { playEach, type ThreadAnswer, type ThreadOptions } from "./play-seeds.ts";

const options = workerData as ThreadOptions;
const answer = (given: ThreadAnswer) => parentPort?.postMessage(given);

try {
  await playEach(options);
  answer({ kind: "done", tally: options.tally });
} catch (error) {
  answer({ kind: "failed", text: error instanceof Error ? `${error.stack}` : String(error) });
}
