// Runs targets in a thread that is watched.
import { Worker } from "node:worker_threads";
import type { Find, FuzzReport } from "./engine.ts";
import { MAX_INPUT } from "./mutate-text.ts";
import { type FuzzJob, type FuzzMessage, SHARED } from "./worker.ts";

/** An input that takes so long never ends. */
const HANG_MS = 20_000;
const CHECK_MS = 1_000;
/** Memory of the thread: a decoder that needs more than its input explains fails for it. */
const MAX_HEAP_MB = 512;
/** Bytes of an input as text: base64 is a third longer than its bytes, text may take three bytes a character. */
const SHARED_BYTES = 4 * (MAX_INPUT + 64 * 1024);

/** What became of one target; `heapBytes` is what is in use after it. */
export interface TargetResult extends FuzzReport {
  readonly heapBytes: number;
}

/**
 * Runs the targets one after the other, and reports each as it is done. A target that hangs or kills the thread is a
 * find, and the others are still run.
 */
export async function runTargets(
  names: readonly string[],
  options: Omit<FuzzJob, "shared" | "targets">,
  onDone: (result: TargetResult) => void,
): Promise<void> {
  let left = names;
  while (left.length > 0) {
    const done = new Set<string>();
    const died = await runUntilDeath({ ...options, targets: left }, (result) => {
      done.add(result.target);
      onDone(result);
    });
    if (died) {
      done.add(died.target);
      onDone({ ...NOTHING, target: died.target, finds: [died] });
    }
    left = died ? left.filter((name) => !done.has(name)) : [];
  }
}

const NOTHING = {
  inputs: 0,
  refused: 0,
  seconds: 0,
  slowestMs: 0,
  covered: 0,
  kept: [],
  heapBytes: 0,
};

async function runUntilDeath(
  job: Omit<FuzzJob, "shared">,
  onDone: (result: TargetResult) => void,
): Promise<Find | undefined> {
  const shared = new SharedArrayBuffer(SHARED_BYTES);
  const words = new Int32Array(shared);
  let target = job.targets[0] ?? "";
  const find = (why: string): Find => {
    const length = Atomics.load(words, SHARED.length);
    const bytes = Buffer.from(Buffer.from(shared, SHARED.words * 4, length));
    return { target, input: bytes.toString(), why };
  };
  const worker = new Worker(new URL("./worker.ts", import.meta.url), {
    workerData: { ...job, shared },
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  return await new Promise((resolve) => {
    let last = -1;
    let since = performance.now();
    const watch = setInterval(() => {
      const number = Atomics.load(words, SHARED.number);
      if (number !== last) {
        last = number;
        since = performance.now();
      } else if (performance.now() - since > HANG_MS) {
        resolve(find("did not end"));
        void worker.terminate();
      }
    }, CHECK_MS);
    worker.on("message", (message: FuzzMessage) => {
      since = performance.now();
      if (message.kind === "begins") target = message.target;
      else onDone({ ...message.report, heapBytes: message.heapBytes });
    });
    worker.once("error", (error: unknown) =>
      resolve(find(error instanceof Error ? (error.stack ?? error.message) : String(error))),
    );
    worker.once("exit", () => {
      clearInterval(watch);
      resolve(undefined);
    });
  });
}
