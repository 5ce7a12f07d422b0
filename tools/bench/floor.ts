import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { allValues, inParallel } from "../../src/kit/in-parallel.ts";
import type { ContainerRuntime } from "../../src/outside/cri/cri.ts";
import type { Box } from "../../test/box/box.ts";
import { TEST_IMAGE } from "../../test/box/images.ts";
import { type FloorPod, floorPod } from "./floor-pod.ts";
import { monotonicMs } from "./pod-observer.ts";
import { GRACE_SECONDS } from "./pods.ts";
import type { Floor, FloorTogether } from "./result.ts";

/** How many pods of the floor are started side by side; all of them is measured, too. */
const FEW = 4;

/** The calls any kubelet has to make, made by the bench itself and by nobody else. */
export class FloorRunner {
  readonly #box: Box;
  readonly #cri: ContainerRuntime;
  readonly #signal: AbortSignal;
  #number = 0;

  constructor(box: Box, cri: ContainerRuntime, signal: AbortSignal) {
    this.#box = box;
    this.#cri = cri;
    this.#signal = signal;
  }

  /** One pod to warm up, `singles` one at a time, then `pods` at once, a few in parallel and all. */
  async measure(options: { readonly singles: number; readonly pods: number }): Promise<Floor> {
    await this.#together(1, 1, 0);
    const singles: FloorTogether[] = [];
    for (let i = 0; i < options.singles; i++) singles.push(await this.#together(1, 1));
    const together: FloorTogether[] = [];
    for (const parallel of new Set([Math.min(FEW, options.pods), options.pods]))
      together.push(await this.#together(options.pods, parallel));
    return {
      single: {
        runningMs: singles.flatMap(({ runningMs }) => runningMs),
        stoppedMs: singles.flatMap(({ stoppedMs }) => stoppedMs),
      },
      together,
    };
  }

  /** Starts pods with `parallel` in hand; stops all of them side by side, as their grace is only waiting. */
  async #together(
    count: number,
    parallel: number,
    graceSeconds = GRACE_SECONDS,
  ): Promise<FloorTogether> {
    const image = await this.#cri.images.imageStatus(TEST_IMAGE, this.#signal);
    const pods = Array.from({ length: count }, () => this.#nextPod(image?.id ?? TEST_IMAGE));
    const startedAt = monotonicMs();
    const started = allValues(
      await inParallel(pods, parallel, async (pod) => {
        const ids = await this.#start(pod);
        return { ...ids, runningMs: monotonicMs() - startedAt };
      }),
    );
    const stoppingAt = monotonicMs();
    const stoppedMs = await Promise.all(
      started.map(async ({ container, sandbox }) => {
        await this.#cri.runtime.stopContainer(container, graceSeconds, this.#signal);
        await this.#cri.runtime.stopSandbox(sandbox, this.#signal);
        return monotonicMs() - stoppingAt;
      }),
    );
    for (const { sandbox } of started) await this.#cri.runtime.removeSandbox(sandbox, this.#signal);
    return { parallel, runningMs: started.map(({ runningMs }) => runningMs), stoppedMs };
  }

  async #start({ sandbox, container }: FloorPod): Promise<StartedPod> {
    const { runtime } = this.#cri;
    const sandboxId = await runtime.runSandbox(sandbox, "", this.#signal);
    const made = await runtime.createContainer(sandboxId, container, sandbox, this.#signal);
    await runtime.startContainer(made, this.#signal);
    return { sandbox: sandboxId, container: made };
  }

  #nextPod(image: string): FloorPod {
    this.#number += 1;
    const [hosts, termination] = ["hosts", "termination"].map((name) => {
      const path = join(this.#box.folder, `floor-${this.#number}-${name}`);
      writeFileSync(path, "");
      return path;
    });
    return floorPod(`floor-${this.#number}`, image, {
      hosts: hosts ?? "",
      termination: termination ?? "",
    });
  }
}

interface StartedPod {
  readonly sandbox: string;
  readonly container: string;
}
