import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Box, BoxProcess } from "../../test/box/box.ts";
import type { Sighting } from "./observe-pods.ts";
import { POD_LABEL } from "./pods.ts";
import { Sightings } from "./sightings.ts";

/** When the API of a kubelet first showed a pod running, and ready. */
export interface SeenTimes {
  readonly running: number;
  readonly ready: number;
}

/** Milliseconds on the machine's monotonic clock, the same in every process. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Asks the kubelet of a box for its pods, by a program inside the box. */
export class PodObserver implements AsyncDisposable {
  readonly #process: BoxProcess;
  readonly #sightings = new Sightings();

  constructor(box: Box, address: string) {
    const script = join(import.meta.dirname, "observe-pods.ts");
    this.#process = box.spawn([process.execPath, script, address, POD_LABEL]);
    if (this.#process.stdout) {
      createInterface(this.#process.stdout).on("line", (line) => {
        const sighting: Sighting = JSON.parse(line);
        this.#sightings.note(keyOf(sighting), sighting.at);
      });
    }
    this.#process.stderr?.pipe(process.stderr, { end: false });
  }

  /** Asks with this pause between two questions; 0 stops asking. */
  every(ms: number): void {
    this.#process.stdin?.write(`${ms}\n`);
  }

  /** When the API first answered. */
  async answered(timeoutMs: number, signal: AbortSignal): Promise<number> {
    const [at = Number.NaN] = await this.#sightings.all(["answer"], timeoutMs, signal);
    return at;
  }

  /** When each of the pods was first seen running and ready; rejects with the names of those that were not. */
  async ready(
    names: readonly string[],
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<readonly SeenTimes[]> {
    const keys = names.flatMap((name) => [`running ${name}`, `ready ${name}`]);
    const moments = await this.#sightings.all(keys, timeoutMs, signal);
    return names.map((_, i) => ({
      running: moments[2 * i] ?? Number.NaN,
      ready: moments[2 * i + 1] ?? Number.NaN,
    }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.stdin?.end();
    await this.#process.exited;
  }
}

function keyOf(sighting: Sighting): string {
  return sighting.kind === "answer" ? "answer" : `${sighting.kind} ${sighting.pod}`;
}
