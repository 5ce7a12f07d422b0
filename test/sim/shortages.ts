// What the machine runs short of from time to time, whatever its pods hold.
import type { Random } from "../../src/kit/random.ts";
import type { DiskUsage } from "../../src/outside/host/host.ts";
import { FAKE_FACTS } from "./fake-host.ts";
import type { World } from "./world.ts";

const MI = 2 ** 20;
const ENOUGH_MI = 4_096;
/** Below every default threshold. */
const SHORT_MI = 50;
const SHORT_SHARE = 0.02;

/** Memory and disk of a world, each short or not. */
export class Shortages {
  /** How often something ran short. */
  count = 0;
  readonly #world: World;
  readonly #random: Random;
  readonly #disk: DiskUsage;
  /** On other machines there is always enough. */
  readonly #happen: boolean;

  constructor(world: World, random: Random) {
    this.#world = world;
    this.#random = random;
    this.#disk = world.host.disk;
    this.#happen = random.next() < 0.5;
    this.#leaveMemory(ENOUGH_MI);
  }

  /** Something may run short, or be there again. */
  step(): void {
    if (!this.#happen) return;
    const action = this.#random.next();
    if (action < 0.08) this.#runShort("memory", () => this.#leaveMemory(SHORT_MI));
    else if (action < 0.14) this.#runShort("disk", () => this.#leaveDisk(SHORT_SHARE));
    else if (action < 0.35) this.end();
  }

  /** There is enough of all. */
  end(): void {
    this.#world.note("there is enough of all");
    this.#leaveMemory(ENOUGH_MI);
    this.#world.host.disk = this.#disk;
  }

  #runShort(what: string, act: () => void): void {
    this.#world.note(`${what} runs short`);
    this.count += 1;
    act();
  }

  #leaveMemory(mi: number): void {
    const { host } = this.#world;
    const { memoryBytes } = FAKE_FACTS;
    host.kernelFiles.set(
      "/proc/meminfo",
      `MemTotal: ${memoryBytes / 1024} kB\nMemFree: ${mi * 1024} kB`,
    );
    const used = String(memoryBytes - mi * MI);
    if (host.cgroups.version === 1) host.cgroups.set("/", "memory.usage_in_bytes", used);
  }

  #leaveDisk(share: number): void {
    const { host } = this.#world;
    const availableBytes = Math.floor(this.#disk.capacityBytes * share);
    host.disk = { ...this.#disk, availableBytes };
  }
}
