// Sandboxes, containers and logs that cannot be read for ever, or whose reading never ends.
import { OutsideError } from "../../src/kit/errors.ts";
import { createSeededRandom, type Random } from "../../src/kit/random.ts";
import type { ContainerRuntime } from "../../src/outside/cri/cri.ts";
import type { FakeRuntime } from "./fake-runtime.ts";

/** Share of all objects that are broken. */
const SHARE = 0.1;

/** How an object is broken. */
export type Defect = "fails" | "hangs";

/** Decides which objects are broken, each when it is first asked for, and for ever. */
export class BrokenObjects {
  readonly #random: Random;
  readonly #defects = new Map<string, Defect | undefined>();
  readonly #runtime: FakeRuntime;
  /** Pods that ever had a sandbox or container whose status cannot be read, by UID and by name. */
  readonly pods = new Set<string>();

  constructor(seed: number, runtime: FakeRuntime) {
    this.#random = createSeededRandom(seed);
    this.#runtime = runtime;
  }

  /** How many objects are broken, by defect. */
  get counts(): Readonly<Record<Defect, number>> {
    const all = [...this.#defects.values()];
    const count = (wanted: Defect) => all.filter((defect) => defect === wanted).length;
    return { fails: count("fails"), hangs: count("hangs") };
  }

  /** Whether the runtime has something broken of the pod now. */
  isBroken(uid: string): boolean {
    const { containers, sandboxes } = this.#runtime;
    const ids = [...containers.keys(), ...sandboxes.keys()];
    return ids.some((id) => this.#defects.get(id) !== undefined && this.#podOf(id)?.uid === uid);
  }

  /** The runtime with broken objects in it. Containers have logs. */
  around({ runtime, images }: ContainerRuntime): ContainerRuntime {
    return {
      images,
      runtime: {
        ...runtime,
        sandboxStatus: async (id, signal) => {
          await this.#suffer(id, "sandbox");
          return await runtime.sandboxStatus(id, signal);
        },
        containerStatus: async (id, signal) => {
          await this.#suffer(id, "container");
          const status = await runtime.containerStatus(id, signal);
          return { ...status, logPath: `/var/log/broken/${id}` };
        },
      },
    };
  }

  /** Stands in for the read of a log's end. */
  readonly readTail = async (root: string, relativePath: string): Promise<string | undefined> => {
    const path = `${root}/${relativePath}`;
    if (path.startsWith("/var/log/broken/")) await this.#suffer(path, "log");
    return undefined;
  };

  async #suffer(id: string, kind: "sandbox" | "container" | "log"): Promise<void> {
    if (!this.#defects.has(id)) {
      const drawn = this.#random.next();
      const defect = drawn < SHARE / 2 ? "fails" : drawn < SHARE ? "hangs" : undefined;
      this.#defects.set(id, defect);
      const pod = defect && kind !== "log" ? this.#podOf(id) : undefined;
      if (pod) for (const name of [pod.uid, pod.name]) this.pods.add(name);
    }
    const defect = this.#defects.get(id);
    if (defect === "fails") throw new OutsideError("io", `${id}: broken for ever`);
    // Not even the caller's timeout ends it.
    if (defect === "hangs") await new Promise<never>(() => {});
  }

  #podOf(id: string): { readonly uid: string; readonly name: string } | undefined {
    const sandboxId = this.#runtime.containers.get(id)?.sandboxId ?? id;
    const metadata = this.#runtime.sandboxes.get(sandboxId)?.config.metadata;
    return metadata && { uid: metadata.uid ?? "", name: metadata.name ?? "" };
  }
}
