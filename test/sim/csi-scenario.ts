/** Random lives of volumes of a CSI driver: pods come and go, calls fail and hang, agent and driver are killed. */
import { createSeededRandom, type Random } from "../../src/kit/random.ts";
import { podOfClaims } from "../support/csi-disk.ts";
import type { DriverCall, DriverFault } from "../support/csi-driver.ts";
import { CsiWorld } from "../support/csi-world.ts";
import { CsiStage } from "./csi-stage.ts";

const STATUSES = [
  "Internal",
  "Unavailable",
  "DeadlineExceeded",
  "Aborted",
  "InvalidArgument",
  "FailedPrecondition",
] as const;
const CALLS: readonly DriverCall[] = ["C", "Gi", "St", "Us", "Pb", "Up"];
const CLAIMS = ["v", "w"] as const;
const PODS = ["a", "b", "c", "d"] as const;
const STEPS = 40;
/** One random history. */
class CsiHistory {
  readonly #random: Random;
  readonly #stage: CsiStage;
  readonly #share: number;
  #generation = 0;

  constructor(random: Random, stage: CsiStage) {
    this.#random = random;
    this.#stage = stage;
    this.#share = random.next() * 0.5;
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.#random.next() * items.length)] as T;
  }

  fault(call: DriverCall): DriverFault | undefined {
    const { isCalm } = this.#stage;
    if (isCalm || !CALLS.includes(call) || this.#random.next() >= this.#share) return undefined;
    if (this.#random.next() < 0.1) return "hang";
    return { status: this.pick(STATUSES), done: this.#random.next() < 0.4 };
  }

  async play(): Promise<void> {
    const { clock } = this.#stage.world;
    for (let step = 0; step < STEPS; step += 1) {
      await this.#step();
      this.#stage.check();
      await clock.advance(Math.floor(this.#random.next() ** 3 * 60_000));
      this.#stage.check();
    }
    await this.#stage.finish();
  }

  async #step(): Promise<void> {
    const chance = this.#random.next();
    const id = this.pick(PODS);
    const isKnown = this.#stage.has(id);
    if (chance < 0.4 && !isKnown) this.#begin(id);
    else if (chance < 0.7 && isKnown) this.#stage.end(id);
    else if (chance < 0.8) this.#stage.killAgent();
    else if (chance < 0.9) this.#stage.killDriver();
    else await this.#stage.revive();
  }

  #begin(id: string): void {
    if (!this.#stage.agentLives) return;
    this.#generation += 1;
    const claims = CLAIMS.filter(() => this.#random.next() < 0.7);
    this.#stage.begin(id, podOfClaims(`${id}${this.#generation}`, claims));
  }
}

/** Plays one history; resolves with what must not have been. */
export async function playCsiHistory(seed: number): Promise<readonly string[]> {
  const random = createSeededRandom(seed);
  let history: CsiHistory | undefined;
  const world = await CsiWorld.start({
    reportMs: 20,
    driver: { fault: (call) => history?.fault(call) },
  });
  for (const claim of CLAIMS) world.addVolume(claim);
  const stage = new CsiStage(world);
  history = new CsiHistory(random, stage);
  await history.play();
  return stage.violations;
}
