/** What happens to the node in the chaos, chosen by a seed. */
import { setTimeout as sleep } from "node:timers/promises";
import { createSeededRandom, type Random } from "../../src/kit/random.ts";
import { kindOf, type PodKind, podOfKind } from "./chaos-kinds.ts";
import { type ChaosNode, PODS, type PodProcess } from "./chaos-node.ts";

/** Longest pause between two strokes, and longest absence of what was killed. */
const MAX_PAUSE_MS = 1_500;
const MAX_AWAY_MS = 4_000;

type Stroke =
  | "main process"
  | "any process"
  | "sandbox"
  | "agent"
  | "containerd"
  | "agent and containerd"
  | "pod removed, another comes"
  | "pod removed and back at once"
  | "pod of the API deleted without grace";

/** Strokes by how often they come. */
const WEIGHTS: Readonly<Record<Stroke, number>> = {
  "main process": 30,
  "any process": 8,
  sandbox: 8,
  agent: 10,
  containerd: 8,
  "agent and containerd": 3,
  "pod removed, another comes": 10,
  "pod removed and back at once": 6,
  "pod of the API deleted without grace": 4,
};

/** What is spared when the runtime is to live. */
const OF_RUNTIME: ReadonlySet<string> = new Set<Stroke>(["containerd", "agent and containerd"]);

/** How a monkey strikes. */
export interface MonkeyManner {
  readonly seed: number;
  /** Whether it kills the runtime too. */
  readonly runtimeDies: boolean;
}

/** A pod that should run. */
export interface DesiredPod {
  readonly name: string;
  readonly kind: PodKind;
}

/** Injects faults, and knows the desired pods. */
export class Monkey {
  readonly desired = new Map<string, DesiredPod>();
  /** Pods, by local uid, of which a process was killed. */
  readonly hit = new Set<string>();
  /** Names of pods that were removed and came back, with the same uid where a manifest says so. */
  readonly returned = new Set<string>();
  readonly strokes = new Map<string, number>();
  readonly #node: ChaosNode;
  readonly #random: Random;
  readonly #weights: readonly (readonly [string, number])[];
  readonly #log: (text: string) => void;
  #made = 0;
  #agent: Promise<void> | undefined;
  #runtime: Promise<void> | undefined;

  constructor(node: ChaosNode, manner: MonkeyManner, log: (text: string) => void) {
    this.#node = node;
    this.#random = createSeededRandom(manner.seed);
    this.#weights = Object.entries(WEIGHTS).filter(
      ([stroke]) => manner.runtimeDies || !OF_RUNTIME.has(stroke),
    );
    this.#log = log;
  }

  /** Asks for another pod of the next kind. */
  async add(kind: PodKind = kindOf(this.#made)): Promise<void> {
    const name = `${kind.name}-${this.#made}`;
    this.#made += 1;
    this.desired.set(name, { name, kind });
    await this.#create(name, kind);
  }

  /** Strikes until the time is over, then sees to it that agent and runtime run. */
  async strike(durationMs: number): Promise<void> {
    const deadline = performance.now() + durationMs;
    while (performance.now() < deadline) {
      const stroke = this.#choose();
      this.strokes.set(stroke, (this.strokes.get(stroke) ?? 0) + 1);
      await this.#do(stroke);
      await sleep(this.#random.next() * MAX_PAUSE_MS);
    }
    await this.rest();
  }

  /** Waits until agent and runtime are back. */
  async rest(): Promise<void> {
    await this.#runtime;
    await this.#agent;
  }

  /** Takes all pods away. */
  async removeAll(): Promise<void> {
    for (const { name } of [...this.desired.values()]) await this.#remove(name);
    await this.reconcile();
  }

  /** Makes the API have the pods that are wanted: requests get lost when the agent is killed. */
  async reconcile(): Promise<void> {
    const pods = (await this.#node.pods()).filter(
      ({ metadata }) => metadata?.annotations?.["kubernetes.io/config.mirror"] === undefined,
    );
    const there = new Set(pods.map(({ metadata }) => metadata?.name ?? ""));
    for (const { name, kind } of this.desired.values())
      if (kind.source === "api" && !there.has(name)) await this.#create(name, kind);
    for (const { metadata } of pods)
      if (!this.desired.has(metadata?.name ?? "") && metadata?.deletionTimestamp === undefined)
        await this.#node.ask("DELETE", `${PODS}/${metadata?.name}`);
  }

  #choose(): Stroke {
    const total = this.#weights.reduce((sum, [, weight]) => sum + weight, 0);
    let left = this.#random.next() * total;
    for (const [stroke, weight] of this.#weights) {
      left -= weight;
      if (left < 0) return stroke as Stroke;
    }
    return "main process";
  }

  async #do(stroke: Stroke): Promise<void> {
    switch (stroke) {
      case "main process":
      case "any process":
      case "sandbox":
        return this.#killProcess(stroke);
      case "agent":
        this.#killAgent();
        return;
      case "containerd":
        this.#killContainerd();
        return;
      case "agent and containerd":
        this.#killContainerd();
        this.#killAgent();
        return;
      case "pod removed, another comes": {
        const gone = this.#pick([...this.desired.values()]);
        this.#log(`${stroke}: ${gone?.name}`);
        if (gone) await this.#remove(gone.name);
        return this.add(gone?.kind);
      }
      case "pod removed and back at once":
        return this.#replace(this.#pick([...this.desired.values()]), stroke);
      case "pod of the API deleted without grace": {
        const ofApi = [...this.desired.values()].filter(({ kind }) => kind.source === "api");
        const gone = this.#pick(ofApi);
        if (gone === undefined) return;
        this.#log(`${stroke}: ${gone.name}`);
        await this.#remove(gone.name, "?gracePeriodSeconds=0");
        return this.add(gone.kind);
      }
      default:
        stroke satisfies never;
    }
  }

  #killProcess(stroke: "main process" | "any process" | "sandbox"): void {
    const all = this.#node.processes();
    const mains = new Map<string, PodProcess>();
    for (const each of all) {
      const first = mains.get(each.id);
      if (first === undefined || each.pid < first.pid) mains.set(each.id, each);
    }
    const picksSandbox = stroke === "sandbox";
    const from = stroke === "any process" ? all : [...mains.values()];
    const target = this.#pick(from.filter(({ isSandbox }) => isSandbox === picksSandbox));
    if (target === undefined) return;
    this.hit.add(target.podUid);
    this.#log(`${stroke} of ${target.podUid} ${target.id.slice(0, 8)}`);
    try {
      process.kill(target.pid, "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  }

  #killAgent(): void {
    const awayMs = this.#random.next() * MAX_AWAY_MS;
    if (this.#agent !== undefined) return;
    this.#log(`agent, for ${Math.round(awayMs)} ms`);
    const { agent } = this.#node;
    this.#agent = (async () => {
      await agent.kill();
      await sleep(awayMs);
      await agent.start();
    })().finally(() => {
      this.#agent = undefined;
    });
  }

  #killContainerd(): void {
    const awayMs = this.#random.next() * MAX_AWAY_MS;
    if (this.#runtime !== undefined) return;
    this.#log(`containerd, for ${Math.round(awayMs)} ms`);
    const { box } = this.#node;
    this.#runtime = (async () => {
      await box.killContainerd("SIGKILL");
      await sleep(awayMs);
      await box.startContainerd();
    })().finally(() => {
      this.#runtime = undefined;
    });
  }

  async #replace(desired: DesiredPod | undefined, stroke: Stroke): Promise<void> {
    if (desired === undefined) return;
    const { name, kind } = desired;
    this.#log(`${stroke}: ${name}`);
    await this.#remove(name);
    this.returned.add(name);
    this.desired.set(name, desired);
    await this.#create(name, kind);
  }

  async #create(name: string, kind: PodKind): Promise<void> {
    const pod = podOfKind(kind, name);
    if (kind.source === "static") this.#node.agent.apply(`${name}.yaml`, pod);
    else await this.#node.ask("POST", PODS, pod).catch(() => undefined);
  }

  async #remove(name: string, query = ""): Promise<void> {
    const kind = this.desired.get(name)?.kind;
    this.desired.delete(name);
    if (kind?.source === "static") this.#node.agent.remove(`${name}.yaml`);
    else await this.#node.ask("DELETE", `${PODS}/${name}${query}`).catch(() => undefined);
  }

  #pick<T>(items: readonly T[]): T | undefined {
    return items[Math.floor(this.#random.next() * items.length)];
  }
}
