import type { KubeletConfig } from "../../src/config/kubelet-config.ts";
import { createSeededRandom, type Random } from "../../src/kit/random.ts";
import { hurtRuntime } from "./hurt-runtime.ts";
import { MEMORY_TEMPLATES, MemoryChecks, memoryManifest, STATE_FILE } from "./memory-checks.ts";
import { pick } from "./scenario.ts";
import { MANIFESTS, SimFailure, World } from "./world.ts";

const FAULT_PHASE_MS = 240_000;
const STEPS = 30;
const SETTLE_MS = 300_000;
const NODES = "/sys/devices/system/node";

/** How histories ended, over all seeds that were played. */
export interface MemoryTally {
  running: number;
  refused: number;
  done: number;
}

/** Two nodes of 3 GiB, of which the first keeps 100 MiB. */
function settingsOf(seed: number): Partial<KubeletConfig> {
  const policies = ["none", "best-effort", "restricted", "single-numa-node"];
  return {
    memoryManagerPolicy: "Static",
    reservedMemory: [{ numaNode: 0, limits: { memory: "100Mi" } }],
    topologyManagerPolicy: policies[seed % 4] ?? "none",
    topologyManagerScope: seed % 8 < 4 ? "container" : "pod",
  };
}

/** Plays one history of guaranteed pods, crashes of the agent and of containers; throws `SimFailure` with the trace. */
export async function playMemory(seed: number, tally?: MemoryTally): Promise<void> {
  const world = new World(seed, {}, { config: settingsOf(seed) });
  const { kernelFiles } = world.host;
  kernelFiles.set(`${NODES}/online`, "0-1");
  for (const id of [0, 1]) {
    kernelFiles.set(`${NODES}/node${id}/meminfo`, `Node ${id} MemTotal: ${3 * 2 ** 20} kB`);
    kernelFiles.set(`${NODES}/node${id}/cpulist`, String(id));
  }
  await world.host.files.makeDirectory(MANIFESTS, 0o755);
  const game = new Game(world, createSeededRandom(seed + 2), seed % 3 === 0);
  try {
    await game.injectFaults();
    await game.settle();
    await game.checkSettled(tally);
    await game.checkRestart();
    await game.checkCleanEnd();
  } catch (error) {
    if (!(error instanceof SimFailure)) throw error;
    throw new SimFailure(`seed ${seed}: ${error.message}\n${world.trace.slice(-60).join("\n")}`);
  }
}

class Game {
  readonly #world: World;
  readonly #random: Random;
  readonly #checks: MemoryChecks;
  /** Whether the state file is damaged as well. */
  readonly #damages: boolean;
  readonly #desired = new Set<string>();

  constructor(world: World, random: Random, damages: boolean) {
    this.#world = world;
    this.#random = random;
    this.#damages = damages;
    this.#checks = new MemoryChecks(world);
  }

  async injectFaults(): Promise<void> {
    const { runtime } = this.#world;
    runtime.options.latencyMs = pick(this.#random, [0, 50, 500]);
    runtime.options.events = this.#random.next() < 0.7;
    this.#world.startAgent();
    for (let step = 0; step < STEPS; step += 1) {
      await this.#disturb();
      await this.#world.advance(Math.floor((this.#random.next() * 2 * FAULT_PHASE_MS) / STEPS));
    }
  }

  async #disturb(): Promise<void> {
    const action = this.#random.next();
    if (action < 0.45) await this.#addDesired();
    else if (action < 0.65) await this.#drop();
    else if (action < 0.75) this.#world.killAgent();
    else if (action < 0.78 && this.#damages) await this.#damage();
    else if (action < 0.9) this.#world.startAgent();
    else hurtRuntime(this.#world, this.#random);
  }

  async #addDesired(): Promise<void> {
    const name = `p${Math.floor(this.#random.next() * 6)}`;
    const at = Math.floor(this.#random.next() * MEMORY_TEMPLATES.length);
    this.#desired.add(name);
    this.#world.note(`manifest ${name}: template ${at}`);
    await this.#world.host.files.writeAtomic(
      `${MANIFESTS}/${name}.json`,
      memoryManifest(name, at, Math.floor(this.#random.next() * 2)),
      0o644,
    );
  }

  async #drop(): Promise<void> {
    const [name] = [...this.#desired].filter(() => this.#random.next() < 0.5);
    if (name === undefined) return;
    this.#desired.delete(name);
    this.#world.note(`manifest ${name} removed`);
    await this.#world.host.files.remove(`${MANIFESTS}/${name}.json`);
  }

  /** As a disk leaves it: the file is cut short, or gone, while no agent runs. */
  async #damage(): Promise<void> {
    const { files } = this.#world.host;
    this.#world.killAgent();
    this.#checks.damaged = true;
    const text = (await files.readText(STATE_FILE, { maxBytes: 1e6 })) ?? "";
    this.#world.note("memory_manager_state is damaged");
    if (text === "") return;
    if (this.#random.next() < 0.5) await files.writeAtomic(STATE_FILE, text.slice(0, 40), 0o600);
    else await files.remove(STATE_FILE);
  }

  async settle(): Promise<void> {
    this.#world.runtime.options.latencyMs = 0;
    this.#world.startAgent();
    this.#world.note("calm");
    await this.#world.advance(SETTLE_MS);
  }

  /** What is in the file is what those have that run, no more and no less. */
  async checkSettled(tally?: MemoryTally): Promise<void> {
    const { agent } = this.#world;
    if (!agent) this.#world.fail("the agent is not up");
    const holders: string[] = [];
    for (const name of this.#desired) {
      const [pod, ...others] = agent.pipeline.statuses
        .list()
        .filter((each) => each.pod.metadata?.name === `${name}-sim`);
      if (!pod || others.length > 0) this.#world.fail(`pod ${name} is not there once`);
      const { phase, message = "" } = pod.status;
      const isRefusal = /\[memorymanager\] |Topology locality|enough resource: memory/.test(
        message,
      );
      if (phase === "Failed" && isRefusal) {
        if (tally) tally.refused += 1;
      } else if (phase === "Succeeded") {
        if (tally) tally.done += 1;
      } else if (phase === "Running") {
        if (tally) tally.running += 1;
        holders.push(pod.uid);
      } else this.#world.fail(`pod ${name} is ${JSON.stringify(pod.status)}`);
    }
    await this.#checks.settled(holders);
  }

  /** A new agent leaves everything as it is; pods that were refused are judged again. */
  async checkRestart(): Promise<void> {
    const before = await this.#checks.entries();
    this.#world.killAgent();
    await this.#world.advance(500);
    this.#world.startAgent();
    await this.#world.advance(60_000);
    const after = await this.#checks.entries();
    for (const [uid, entry] of before)
      if (after.get(uid) !== entry)
        this.#world.fail(`a restart changed ${uid} from ${entry} to ${after.get(uid)}`);
  }

  async checkCleanEnd(): Promise<void> {
    const { files } = this.#world.host;
    for (const name of this.#desired) await files.remove(`${MANIFESTS}/${name}.json`);
    this.#desired.clear();
    await this.#world.advance(120_000);
    await this.checkSettled();
  }
}
