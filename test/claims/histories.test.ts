// Random histories of pods that share claims, while agent and driver are killed: no claim is used unprepared, none is unprepared in
// use, and nothing is left.
import assert from "node:assert/strict";
import { test } from "node:test";
import { OutsideError } from "../../src/kit/errors.ts";
import { createSeededRandom } from "../../src/kit/random.ts";
import { ClaimWorld, claimingPod } from "./world.ts";

const SEEDS = Number(process.env["SIM_SEEDS"] ?? 8);
const STEPS = 40;
const CLAIMS = ["c0", "c1", "c2"] as const;
const SETTLE_MS = 400_000;

type Player = {
  readonly pod: ReturnType<typeof claimingPod>;
  readonly claims: readonly string[];
  state: "starting" | "running" | "ending" | "gone";
  leave: AbortController;
};

/** One history; the steps that a test adds may do wrong. */
class History {
  readonly world = new ClaimWorld();
  readonly random;
  readonly faults: string[] = [];
  readonly players: Player[] = [];
  /** What the driver has prepared, whichever of its processes. */
  readonly prepared = new Set<string>();
  #drivers = 0;
  #driver: Awaited<ReturnType<ClaimWorld["driver"]>> | undefined;

  constructor(seed: number) {
    this.random = createSeededRandom(seed);
  }

  pick<T>(list: readonly T[]): T | undefined {
    return list[Math.floor(this.random.next() * list.length)];
  }

  in(...states: readonly Player["state"][]): readonly Player[] {
    return this.players.filter(({ state }) => states.includes(state));
  }

  async startAgent(): Promise<void> {
    await this.world.open();
    for (const player of this.in("starting", "running", "ending")) {
      this.world.lives(player.pod, player.state === "ending" ? "terminating" : "running");
      this.resume(player);
    }
    this.world.claims.sourcesSeen();
  }

  async startDriver(): Promise<void> {
    this.#drivers += 1;
    this.#driver = await this.world.driver({
      instance: `i${this.#drivers}`,
      before: async (call, claims) => {
        await this.world.clock.sleep(this.random.next() * 3_000, new AbortController().signal);
        if (this.random.next() < 0.2) throw new OutsideError("io", "the driver is not well");
        for (const { uid } of claims) {
          if (call === "prepare") this.prepared.add(uid);
          else this.#unprepared(uid);
        }
        if (this.random.next() < 0.2) throw new OutsideError("io", "the answer is lost");
      },
    });
  }

  killDriver(): void {
    this.#driver?.process.kill();
    this.#driver = undefined;
  }

  killAgent(): void {
    this.world.kill();
    for (const player of this.players) player.leave = new AbortController();
  }

  add(): void {
    const claims = CLAIMS.filter(() => this.random.next() < 0.6);
    const pod = claimingPod(`p${this.players.length}`, ...claims);
    const leave = new AbortController();
    const player: Player = { pod, claims, state: "starting", leave };
    this.players.push(player);
    for (const claim of CLAIMS)
      this.world.claim(
        claim,
        this.players.map((each) => each.pod),
      );
    this.world.lives(pod);
    this.resume(player);
  }

  /** Its containers have ended. */
  end(player: Player): void {
    player.leave.abort(new Error("the pod is being ended"));
    player.leave = new AbortController();
    player.state = "ending";
    this.world.lives(player.pod, "terminating");
    this.resume(player);
  }

  /** By force: its object and its containers are gone. */
  force(player: Player): void {
    player.leave.abort(new Error("the pod is being ended"));
    player.state = "gone";
    this.world.facts.delete(player.pod.metadata.uid);
  }

  resume(player: Player): void {
    const { pod, state, leave } = player;
    const { claims } = this.world;
    const { signal } = leave;
    if (state === "starting")
      claims.prepare(pod, signal).then(
        () => {
          if (signal.aborted || player.state !== "starting") return;
          player.state = "running";
          this.check("used unprepared");
        },
        () => !signal.aborted && this.resume(player),
      );
    if (state === "ending")
      claims.unprepare(pod, signal).then(
        () => this.force(player),
        () => !signal.aborted && this.resume(player),
      );
  }

  check(what: string): void {
    for (const { claims, pod } of this.in("running"))
      for (const claim of claims)
        if (!this.prepared.has(`${claim}-uid`))
          this.faults.push(`${what}: ${claim} of ${pod.metadata.name}`);
  }

  async step(): Promise<void> {
    const chance = this.random.next();
    const ends = this.pick(this.in("running", "starting"));
    if (chance < 0.3) this.add();
    else if (chance < 0.5 && ends) this.end(ends);
    else if (chance < 0.6 && ends) this.force(ends);
    else if (chance < 0.7) {
      this.killAgent();
      await this.startAgent();
    } else if (chance < 0.8) {
      this.killDriver();
      await this.startDriver();
    }
    await this.world.clock.advance(this.random.next() * 20_000);
  }

  async settle(): Promise<void> {
    for (const player of this.in("running", "starting")) this.end(player);
    await this.world.clock.advance(SETTLE_MS);
    if (this.prepared.size > 0) this.faults.push(`left prepared: ${[...this.prepared]}`);
    const held = this.world.held();
    if (held.length > 0) this.faults.push(`left held: ${held.join("; ")}`);
    const stuck = this.in("ending").map(({ pod }) => pod.metadata.name);
    if (stuck.length > 0) this.faults.push(`did not end: ${stuck}`);
  }

  #unprepared(uid: string): void {
    this.prepared.delete(uid);
    this.check("unprepared in use");
  }
}

async function play(
  seed: number,
  spoil: (history: History) => Promise<void> = async () => {},
): Promise<readonly string[]> {
  const history = new History(seed);
  await history.startAgent();
  await history.startDriver();
  for (let step = 0; step < STEPS; step += 1) {
    await history.step();
    if (step === STEPS / 2) await spoil(history);
  }
  await history.settle();
  await history.world.close();
  return history.faults;
}

for (let seed = 1; seed <= SEEDS; seed += 1)
  test(`claims in a random history, seed ${seed}`, async () => {
    assert.deepEqual(await play(seed), []);
  });

test("the histories notice a claim that is unprepared in use", async () => {
  const found = await play(3, async (history) => {
    while (history.in("running").length === 0) await history.step();
    for (const { pod } of history.in("running")) await history.world.unprepare(pod).catch(() => {});
  });
  assert.ok(found.length > 0);
});
