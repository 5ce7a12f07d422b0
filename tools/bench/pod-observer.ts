import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Box, BoxProcess } from "../../test/box/box.ts";
import type { Sighting } from "./observe-pods.ts";
import { POD_LABEL } from "./pods.ts";

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
  readonly #sightings = new Map<string, number>();
  readonly #waiting = new Set<() => void>();

  constructor(box: Box, address: string) {
    const script = join(import.meta.dirname, "observe-pods.ts");
    this.#process = box.spawn([process.execPath, script, address, POD_LABEL]);
    if (this.#process.stdout) {
      createInterface(this.#process.stdout).on("line", (line) => {
        const sighting: Sighting = JSON.parse(line);
        this.#sightings.set(keyOf(sighting), sighting.at);
        for (const look of this.#waiting) look();
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
    return await this.#until(() => this.#sightings.get("answer"), { timeoutMs, signal });
  }

  /** When each of the pods was first seen running and ready; rejects with the names of those that were not. */
  async ready(
    names: readonly string[],
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<readonly SeenTimes[]> {
    const timesOf = (name: string) => {
      const running = this.#sightings.get(`running ${name}`);
      const ready = this.#sightings.get(`ready ${name}`);
      return running === undefined || ready === undefined ? undefined : { running, ready };
    };
    const all = () => {
      const times = names.flatMap((name) => timesOf(name) ?? []);
      return times.length === names.length ? times : undefined;
    };
    try {
      return await this.#until(all, { timeoutMs, signal });
    } catch (error) {
      const late = names.filter((name) => timesOf(name) === undefined);
      throw new Error(`not ready: ${late.join(", ")}`, { cause: error });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.stdin?.end();
    await this.#process.exited;
  }

  #until<T>(
    look: () => T | undefined,
    { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<T> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void) => {
        this.#waiting.delete(check);
        limit.removeEventListener("abort", giveUp);
        settle();
      };
      const check = () => {
        const found = look();
        if (found !== undefined) finish(() => resolve(found));
      };
      const giveUp = () => finish(() => reject(limit.reason));
      limit.addEventListener("abort", giveUp, { once: true });
      this.#waiting.add(check);
      if (limit.aborted) giveUp();
      else check();
    });
  }
}

function keyOf(sighting: Sighting): string {
  return sighting.kind === "answer" ? "answer" : `${sighting.kind} ${sighting.pod}`;
}
