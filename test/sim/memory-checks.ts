import type { FakeContainer } from "./fake-runtime-objects.ts";
import { commandOf, type Program } from "./programs.ts";
import type { World } from "./world.ts";

/** Where assignments are kept. */
export const STATE_FILE = "/var/lib/kubelet/memory_manager_state";

const MI = 2 ** 20;
const NODE_MI = [3 * 1024 - 100, 3 * 1024];

interface Part {
  readonly program: Program;
  readonly memoryMi: number;
  readonly sidecar?: boolean;
}

interface Template {
  readonly init: readonly Part[];
  readonly containers: readonly Part[];
  readonly finite?: boolean;
}

const SLEEP: Program = { kind: "sleep" };
const exits = (afterMs: number): Program => ({ kind: "exit", code: 0, afterMs });
const sleeping = (...sizes: readonly number[]): Template => ({
  init: [],
  containers: sizes.map((memoryMi) => ({ program: SLEEP, memoryMi })),
});

/** Guaranteed pods of the histories, some of which fit on no single node. */
export const MEMORY_TEMPLATES: readonly Template[] = [
  sleeping(600),
  sleeping(1_400),
  sleeping(500, 900),
  sleeping(2_990),
  sleeping(3_500),
  {
    init: [
      { program: exits(900), memoryMi: 3_200 },
      { program: SLEEP, memoryMi: 200, sidecar: true },
    ],
    containers: [{ program: SLEEP, memoryMi: 300 }],
  },
  {
    init: [{ program: exits(500), memoryMi: 1_000 }],
    containers: [{ program: SLEEP, memoryMi: 700 }],
  },
  {
    init: [],
    containers: [{ program: exits(6_000), memoryMi: 2_000 }],
    finite: true,
  },
];

/** The manifest of a pod; `revision` makes it another one. */
export function memoryManifest(name: string, at: number, revision: number): string {
  const { init, containers, finite } = MEMORY_TEMPLATES[at] ?? sleeping(1);
  const container =
    (prefix: string) =>
    ({ program, memoryMi, sidecar }: Part, i: number) => {
      const amounts = { cpu: "1m", memory: `${memoryMi}Mi` };
      return {
        name: `${prefix}${i}`,
        image: "nodelet.test/nodelet-test:1",
        command: commandOf(program),
        env: [{ name: "REVISION", value: String(revision) }],
        resources: { requests: amounts, limits: amounts },
        ...(sidecar === true ? { restartPolicy: "Always" } : {}),
      };
    };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", labels: { template: String(at) } },
    spec: {
      restartPolicy: finite === true ? "OnFailure" : "Always",
      terminationGracePeriodSeconds: 2,
      initContainers: init.map(container("i")),
      containers: containers.map(container("c")),
    },
  });
}

/** A container that runs, and on which nodes. */
interface Placed {
  readonly pod: string;
  readonly name: string;
  readonly nodes: string;
  readonly memoryMi: number;
  /** An init container in a new sandbox of its pod: it runs on the nodes of the pod, and is not counted again. */
  readonly again: boolean;
}

interface StateText {
  readonly entries?: Readonly<
    Record<string, Readonly<Record<string, readonly { numaAffinity: number[]; size: number }[]>>>
  >;
}

/** What must hold of memory, judged by what runs and not by what the agent thinks. */
export class MemoryChecks {
  readonly #world: World;
  /** The file was damaged: what ran then may be on other nodes than what was assigned again. */
  damaged = false;

  constructor(world: World) {
    this.#world = world;
    world.watch = () => this.#always();
  }

  /** What the file says of each pod. */
  async entries(): Promise<ReadonlyMap<string, string>> {
    const { entries = {} } = await this.#read();
    return new Map(Object.entries(entries).map(([uid, entry]) => [uid, JSON.stringify(entry)]));
  }

  async #read(): Promise<StateText> {
    const text = await this.#world.host.files.readText(STATE_FILE, { maxBytes: 1e6 });
    return JSON.parse(text ?? "{}") as StateText;
  }

  /** No node gives more than it has, and sets of nodes of different pods are the same or have none in common. */
  #always(): void {
    if (this.damaged) return;
    const placed = this.#placed().filter(({ again }) => !again);
    const used = new Map<string, number>();
    for (const each of placed) {
      if (each.nodes === "") this.#world.fail(`${each.pod} ${each.name} runs on any node`);
      used.set(each.nodes, (used.get(each.nodes) ?? 0) + each.memoryMi);
    }
    const sets = [...used.keys()];
    if (sets.includes("0,1") && sets.length > 1)
      this.#world.fail(`sets of nodes overlap: ${JSON.stringify(placed)}`);
    for (const [set, memoryMi] of used) {
      const has = set.split(",").reduce((sum, id) => sum + (NODE_MI[Number(id)] ?? 0), 0);
      if (memoryMi > has) this.#world.fail(`${memoryMi} Mi are used on ${set}, which has ${has}`);
    }
  }

  /** The file holds what these pods have, and that is where they run. */
  async settled(holders: readonly string[]): Promise<void> {
    const { entries = {} } = await this.#read();
    const held = Object.keys(entries).toSorted();
    const isKnown = held.every((uid) => holders.includes(uid));
    // After damage there may be too little for all that run.
    if (!isKnown || (!this.damaged && held.length !== holders.length))
      this.#world.fail(`the file has entries of ${held.join()}, and ${holders.join()} run`);
    for (const { pod, name, nodes, memoryMi } of this.#placed()) {
      const [block, ...others] = entries[pod]?.[name] ?? [];
      if (!block && this.damaged) continue;
      if (!block || others.length > 0 || block.size !== memoryMi * MI)
        this.#world.fail(`${name} of ${pod} has ${JSON.stringify(block)}`);
      if (!this.damaged && block.numaAffinity.join() !== nodes)
        this.#world.fail(`${name} of ${pod} runs on ${nodes}, not on ${block.numaAffinity.join()}`);
    }
    const running = new Set(this.#placed().map(({ pod, name }) => `${pod} ${name}`));
    for (const [uid, containers] of Object.entries(entries))
      for (const name of Object.keys(containers))
        if (!running.has(`${uid} ${name}`))
          this.#world.fail(`${name} of ${uid} has memory and does not run`);
  }

  #placed(): readonly Placed[] {
    return [...this.#world.runtime.containers.values()]
      .filter(({ state }) => state === "running")
      .map((container) => this.#placedOf(container));
  }

  #placedOf({ sandboxId, config }: FakeContainer): Placed {
    const sandbox = this.#world.runtime.sandboxes.get(sandboxId)?.config;
    const resources = config.linux?.resources;
    const isNew = (sandbox?.metadata?.attempt ?? 0) > 0;
    return {
      again: isNew && config.metadata?.name === "i0",
      pod: sandbox?.metadata?.uid ?? "",
      name: config.metadata?.name ?? "",
      nodes: resources?.cpusetMems ?? "",
      memoryMi: Number(resources?.memoryLimitInBytes ?? 0n) / MI,
    };
  }
}
