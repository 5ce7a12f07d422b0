/** Random lives of volumes of a CSI driver: pods come and go, calls fail and hang, agent and driver are killed. */
import type { IdentifiedPod } from "../../src/api/pod-identity.ts";
import { createSeededRandom, type Random } from "../../src/kit/random.ts";
import { podOfClaims } from "../support/csi-disk.ts";
import type { DriverCall, DriverFault } from "../support/csi-driver.ts";
import { CsiWorld } from "../support/csi-world.ts";

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
/** Longer than the longest pause between two tries, and than a call may take. */
const CALM_MS = 400_000;

interface LivingPod {
  readonly pod: IdentifiedPod;
  stop(): void;
  ending: boolean;
}

/** One random history; `violations` holds what must never be. */
class CsiHistory {
  readonly #random: Random;
  readonly #world: CsiWorld;
  readonly #pods = new Map<string, LivingPod>();
  readonly #share: number;
  readonly violations: string[] = [];
  isCalm = false;
  #agentLives = true;
  #driverLives = true;
  #generation = 0;

  constructor(random: Random, world: CsiWorld) {
    this.#random = random;
    this.#world = world;
    this.#share = random.next() * 0.5;
    world.node.subscribe(() => this.#check());
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.#random.next() * items.length)] as T;
  }

  fault(call: DriverCall): DriverFault | undefined {
    if (this.isCalm || !CALLS.includes(call) || this.#random.next() >= this.#share)
      return undefined;
    if (this.#random.next() < 0.1) return "hang";
    return { status: this.pick(STATUSES), done: this.#random.next() < 0.4 };
  }

  async play(): Promise<void> {
    for (let step = 0; step < STEPS; step += 1) {
      await this.#step();
      this.#check();
      await this.#world.clock.advance(Math.floor(this.#random.next() ** 3 * 60_000));
      this.#check();
    }
    this.isCalm = true;
    await this.#revive();
    for (const id of this.#pods.keys()) this.#end(id);
    await this.#world.clock.advance(CALM_MS);
    this.#check();
    const { driver, host, csi } = this.#world;
    this.violations.push(...driver.violations);
    if (this.#pods.size > 0) this.violations.push(`pods stay: ${[...this.#pods.keys()]}`);
    if (driver.present.length > 0) this.violations.push(`left: ${driver.present}`);
    if (host.volumes.mounted.length > 0) this.violations.push(`mounted: ${host.volumes.mounted}`);
    const known = csi.volumes.list();
    if (known.length > 0) this.violations.push(`known: ${JSON.stringify(known)}`);
    if (csi.volumesInUse().length > 0) this.violations.push(`in use: ${csi.volumesInUse()}`);
    const folders = (await host.files.list("/r/plugins/kubernetes.io/csi/d.csi")) ?? [];
    if (folders.length > 0) this.violations.push(`folders: ${JSON.stringify(folders)}`);
  }

  async #step(): Promise<void> {
    const chance = this.#random.next();
    const id = this.pick(PODS);
    const known = this.#pods.get(id);
    if (chance < 0.4 && !known) this.#begin(id);
    else if (chance < 0.7 && known) this.#end(id);
    else if (chance < 0.8) await this.#killAgent();
    else if (chance < 0.9) this.#killDriver();
    else await this.#revive();
  }

  #begin(id: string): void {
    if (!this.#agentLives) return;
    this.#generation += 1;
    const claims = CLAIMS.filter(() => this.#random.next() < 0.7);
    const pod = podOfClaims(`${id}${this.#generation}`, claims);
    this.#mount(id, pod);
  }

  #mount(id: string, pod: IdentifiedPod): void {
    const { stop } = this.#world.mount(pod);
    this.#pods.set(id, { pod, stop, ending: false });
  }

  #end(id: string): void {
    const known = this.#pods.get(id);
    if (!known || known.ending) return;
    known.stop();
    known.ending = true;
    if (this.#agentLives) this.#unmount(id, known);
  }

  #unmount(id: string, known: LivingPod): void {
    const leave = new AbortController();
    known.stop = () => leave.abort(new Error("the agent was killed"));
    void this.#world.unmount(known.pod, leave.signal).then(() => {
      if (!leave.signal.aborted && this.#pods.get(id) === known) this.#pods.delete(id);
    });
  }

  async #killAgent(): Promise<void> {
    if (!this.#agentLives) return;
    this.#agentLives = false;
    this.#world.killAgent();
    for (const { stop } of this.#pods.values()) stop();
  }

  #killDriver(): void {
    if (!this.#driverLives) return;
    this.#driverLives = false;
    this.#world.killDriver();
  }

  /** Both run again; the agent goes on with the pods that it finds. */
  async #revive(): Promise<void> {
    const isNew = !this.#agentLives;
    if (isNew) {
      await this.#world.startAgent();
      this.#agentLives = true;
      for (const [id, known] of this.#pods)
        if (known.ending) this.#unmount(id, known);
        else this.#mount(id, known.pod);
    }
    if (!this.#driverLives) await this.#world.listenAgain();
    this.#driverLives = true;
    // The registry tries again and again as long as the driver's socket is there.
    for (let tries = 0; tries < (this.isCalm ? 10 : 2) && !this.#isRegistered; tries += 1)
      await this.#world.registerAgain().catch(() => {});
  }

  get #isRegistered(): boolean {
    return this.#world.csi.report().drivers.length > 0;
  }

  /** What holds at every moment. */
  #check(): void {
    const { host, node, driver } = this.#world;
    const { mounted } = host.volumes;
    if (new Set(mounted).size !== mounted.length) this.violations.push(`mounted twice: ${mounted}`);
    const inUse = node.get()?.status?.volumesInUse ?? [];
    for (const staged of driver.present.filter((each) => each.startsWith("staged "))) {
      const id = staged.slice("staged ".length);
      if (!inUse.includes(`kubernetes.io/csi/d.csi^${id}`))
        this.violations.push(`${id} may be detached while it is staged`);
    }
  }
}

/** Plays one history; resolves with what must not have been. */
export async function playCsiHistory(seed: number): Promise<readonly string[]> {
  const random = createSeededRandom(seed);
  let history: CsiHistory | undefined;
  const world = await CsiWorld.start({ driver: { fault: (call) => history?.fault(call) } });
  for (const claim of CLAIMS) world.addVolume(claim);
  history = new CsiHistory(random, world);
  await history.play();
  return history.violations;
}
