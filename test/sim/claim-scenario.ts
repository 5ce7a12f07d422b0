// The whole agent with DRA drivers under fault injection: API server, runtime, drivers and agent fail in turn, and are killed. No
// container runs with a claim that is not prepared, none is unprepared in use, and nothing is left.
import type { Pod } from "../../src/api/generated/types.ts";
import type { ResourceClaimObject } from "../../src/api/resource-claim-object.ts";
import { createSeededRandom, type Random } from "../../src/kit/random.ts";
import type { FakeApiServer } from "./fake-apiserver.ts";
import { CALM_API } from "./fake-apiserver.ts";
import { CALM } from "./fake-runtime-objects.ts";
import { commandOf, type Program } from "./programs.ts";
import { crash, loseSandbox, pick } from "./scenario.ts";
import { idOf, SupervisedDriver, uidOf } from "./supervised-driver.ts";
import { MANIFESTS, SimFailure, World } from "./world.ts";

const FAULT_PHASE_MS = 240_000;
const STEPS = 30;
/** Longer than an agent waits for a driver that does not answer, and then tries again. */
const SETTLE_MS = 900_000;
const NAMESPACE = "default";
const CLAIMS = "resource.k8s.io/resourceclaims";
const DRIVERS = ["gpu.example.com", "nic.example.com"] as const;
/** Claims that pods share, by their drivers. */
const SHARED: Readonly<Record<string, readonly string[]>> = {
  a: [DRIVERS[0]],
  b: [DRIVERS[1]],
  both: DRIVERS,
};

/** How histories ended, over all seeds that were played. */
export interface ClaimTally {
  running: number;
  done: number;
  /** Containers that were made with claims. */
  used: number;
  /** Claims that drivers have unprepared. */
  unprepared: number;
}

/** Plays one history; throws `SimFailure` with the trace of what happened. */
export async function playClaims(seed: number, tally?: ClaimTally): Promise<void> {
  const world = new World(seed, {}, { cluster: true });
  await world.host.files.makeDirectory(MANIFESTS, 0o755);
  const game = new Game(world, createSeededRandom(seed + 11));
  try {
    await game.begin();
    await game.injectFaults();
    await game.settle();
    game.checkSettled(tally);
    await game.checkCleanEnd(tally);
  } catch (error) {
    if (!(error instanceof SimFailure)) throw error;
    throw new SimFailure(`seed ${seed}: ${error.message}\n${world.trace.slice(-90).join("\n")}`);
  }
}

/** A pod that is to be there. */
interface DesiredPod {
  readonly claims: readonly string[];
  readonly finite: boolean;
}

class Game {
  readonly #world: World;
  readonly #api: FakeApiServer;
  readonly #random: Random;
  readonly #drivers: readonly SupervisedDriver[];
  readonly #desired = new Map<string, DesiredPod>();
  readonly #seen = new Set<string>();
  #generation = 0;

  constructor(world: World, random: Random) {
    this.#world = world;
    this.#api = world.api as FakeApiServer;
    this.#random = random;
    const machine = {
      clock: world.clock,
      files: world.host.files,
      grpc: world.grpc,
      random,
      note: (text: string) => world.note(text),
      onUnprepare: (uid: string) => this.#checkUnprepared(uid),
    };
    this.#drivers = DRIVERS.map((name) => new SupervisedDriver(name, machine));
    world.watch = () => this.#checkUsed();
  }

  async begin(): Promise<void> {
    for (const driver of this.#drivers) await driver.prepareFolders();
    for (const [name, drivers] of Object.entries(SHARED)) this.#createClaim(name, drivers);
  }

  async injectFaults(): Promise<void> {
    const { runtime, grpc } = this.#world;
    runtime.options.latencyMs = pick(this.#random, [0, 50, 500]);
    runtime.options.events = this.#random.next() < 0.7;
    runtime.options.faults = pick(this.#random, [0, 0.05]);
    grpc.options.latencyMs = pick(this.#random, [0, 20, 400]);
    grpc.options.faults = pick(this.#random, [0, 0.05, 0.2]);
    this.#api.options.latencyMs = pick(this.#random, [2, 50, 1_000]);
    this.#api.options.faults = pick(this.#random, [0, 0.05, 0.2]);
    this.#api.options.lateFaults = pick(this.#random, [0, 0.1]);
    if (this.#random.next() < 0.8) for (const driver of this.#drivers) driver.start();
    this.#world.startAgent();
    for (let step = 0; step < STEPS; step += 1) {
      await this.#disturb();
      await this.#world.advance(Math.floor((this.#random.next() * 2 * FAULT_PHASE_MS) / STEPS));
    }
  }

  async #disturb(): Promise<void> {
    const action = this.#random.next();
    const driver = pick(this.#random, this.#drivers);
    const api = this.#api;
    if (action < 0.3) this.#add();
    else if (action < 0.42) this.#drop();
    else if (action < 0.5) driver.kill();
    else if (action < 0.62) driver.start();
    else if (action < 0.68)
      driver.behaviour = pick(this.#random, ["well", "well", "refusing", "slow", "losing"]);
    else if (action < 0.76) this.#world.killAgent();
    else if (action < 0.88) this.#world.startAgent();
    else if (action < 0.91) crash(this.#world, this.#random);
    else if (action < 0.94) loseSandbox(this.#world, this.#random);
    else if (action < 0.97) api.goDown();
    else api.comeBack();
  }

  #createClaim(name: string, drivers: readonly string[]): void {
    const at = { collection: CLAIMS, namespace: NAMESPACE };
    if (this.#api.objects.find({ ...at, name })) this.#api.objects.delete({ ...at, name }, {});
    const results = drivers.map((driver) => ({ request: "r", driver, pool: "p", device: "d" }));
    const status = { allocation: { devices: { results } }, reservedFor: [] };
    this.#api.objects.create(at, { metadata: { name }, spec: {}, status });
  }

  /** What the scheduler does before it binds a pod. */
  #reserve(name: string, pod: Pod): void {
    const place = { collection: CLAIMS, namespace: NAMESPACE, name };
    const claim = this.#api.objects.get(place);
    const { reservedFor = [] } = claim.status as ResourceClaimObject["status"] & object;
    const user = { resource: "pods", name: pod.metadata?.name, uid: pod.metadata?.uid };
    const status = { ...claim.status, reservedFor: [...reservedFor, user] };
    this.#api.objects.update(place, true, { ...claim, status });
  }

  #add(): void {
    const name = `p${Math.floor(this.#random.next() * 5)}`;
    const at = { collection: "pods", namespace: NAMESPACE };
    if (this.#api.objects.find({ ...at, name })) return;
    const own = `own-${name}`;
    const claims = Object.keys(SHARED).filter(() => this.#random.next() < 0.4);
    if (this.#random.next() < 0.5) {
      this.#createClaim(own, [pick(this.#random, DRIVERS)]);
      claims.push(own);
    }
    const finite = this.#random.next() < 0.2;
    this.#generation += 1;
    this.#desired.set(name, { claims, finite });
    this.#world.note(`pod ${name} is wanted with ${claims.join() || "no claims"}`);
    const pod = this.#api.objects.create(at, podOf(name, claims, finite));
    for (const claim of claims) this.#reserve(claim, pod as unknown as Pod);
  }

  #drop(): void {
    const names = [...this.#desired.keys()];
    if (names.length === 0) return;
    const name = pick(this.#random, names);
    const force = this.#random.next() < 0.2;
    this.#desired.delete(name);
    this.#world.note(`pod ${name} is deleted${force ? " by force" : ""}`);
    this.#api.objects.delete(
      { collection: "pods", namespace: NAMESPACE, name },
      force ? { gracePeriodSeconds: 0 } : {},
    );
  }

  /** Every container that runs has its claims, prepared by all their drivers; judged by what drivers know. */
  #checkUsed(): void {
    for (const container of this.#world.runtime.containers.values()) {
      if (container.state !== "running") continue;
      for (const { name = "" } of container.config.CDIDevices ?? []) {
        this.#seen.add(`${container.id} ${name}`);
        const uid = uidOf(name);
        const driver = this.#drivers.find((each) => idOf(each.name, uid) === name);
        if (!driver?.prepared.has(uid))
          this.#world.fail(`${container.id} runs with ${name}, which is not prepared`);
      }
    }
    this.#checkDevices();
  }

  /** A container has the devices of all claims that its pod names. */
  #checkDevices(): void {
    const { runtime } = this.#world;
    for (const { config, state, sandboxId, id } of runtime.containers.values()) {
      if (state !== "running") continue;
      const wanted = runtime.sandboxes.get(sandboxId)?.config.annotations?.["claims"] ?? "";
      const drivers = wanted === "" ? 0 : Number(wanted);
      const devices = (config.CDIDevices ?? []).length;
      if (devices !== drivers) this.#world.fail(`${id} has ${devices} devices, not ${drivers}`);
    }
  }

  #checkUnprepared(uid: string): void {
    const { containers } = this.#world.runtime;
    const user = [...containers.values()].find(
      ({ state, config }) =>
        state === "running" &&
        (config.CDIDevices ?? []).some(({ name = "" }) => uidOf(name) === uid),
    );
    if (user) this.#world.blame(`claim ${uid} is unprepared while ${user.id} uses it`);
  }

  async settle(): Promise<void> {
    const { runtime, grpc } = this.#world;
    Object.assign(runtime.options, { ...CALM, events: runtime.options.events });
    Object.assign(grpc.options, { latencyMs: 0, faults: 0 });
    Object.assign(this.#api.options, CALM_API);
    this.#api.comeBack();
    for (const driver of this.#drivers) {
      driver.behaviour = "well";
      driver.start();
    }
    this.#world.startAgent();
    this.#world.note("calm");
    await this.#world.advance(SETTLE_MS);
  }

  checkSettled(tally?: ClaimTally): void {
    for (const [name, { finite }] of this.#desired) {
      const place = { collection: "pods", namespace: NAMESPACE, name };
      const { phase } = (this.#api.objects.find(place) as Pod | undefined)?.status ?? {};
      const isDone = finite && (phase === "Succeeded" || phase === "Failed");
      if (!isDone && (finite || phase !== "Running")) this.#world.fail(`pod ${name} is ${phase}`);
      if (tally) tally[isDone ? "done" : "running"] += 1;
    }
    const wanted = [...this.#desired.values()].filter(({ finite }) => !finite);
    const claims = new Set(wanted.flatMap((each) => each.claims));
    const prepared = this.#world.agent?.subsystems.resourceClaims.report().claims ?? [];
    const names = prepared.map(({ name }) => name).toSorted();
    if (names.join() !== [...claims].toSorted().join())
      this.#world.fail(`claims are held: ${names}, but wanted: ${[...claims]}`);
  }

  async checkCleanEnd(tally?: ClaimTally): Promise<void> {
    for (const name of this.#desired.keys())
      this.#api.objects.delete({ collection: "pods", namespace: NAMESPACE, name }, {});
    this.#desired.clear();
    this.#world.note("all pods are deleted");
    await this.#world.advance(180_000);
    const left = this.#api.objects.list("pods").map(({ metadata }) => metadata.name);
    if (left.length > 0) this.#world.fail(`pods are left: ${left}`);
    this.checkSettled();
    for (const { name, prepared } of this.#drivers)
      if (prepared.size > 0) this.#world.fail(`${name} has left prepared: ${[...prepared]}`);
    if (!tally) return;
    tally.used += this.#seen.size;
    for (const { unprepared } of this.#drivers) tally.unprepared += unprepared;
  }
}

const EXITS: Program = { kind: "exit", code: 0, afterMs: 4_000 };
const SLEEPS: Program = { kind: "sleep" };

function podOf(
  name: string,
  claims: readonly string[],
  finite: boolean,
): Readonly<Record<string, unknown>> {
  const program = finite ? EXITS : SLEEPS;
  const devices = claims.reduce((sum, claim) => sum + (SHARED[claim]?.length ?? 1), 0);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, annotations: { claims: String(devices) } },
    spec: {
      nodeName: "sim",
      restartPolicy: finite ? "Never" : "Always",
      terminationGracePeriodSeconds: 5,
      resourceClaims: claims.map((claim) => ({ name: claim, resourceClaimName: claim })),
      containers: [
        {
          name: "main",
          image: "nodelet.test/nodelet-test:1",
          command: commandOf(program),
          resources: { claims: claims.map((claim) => ({ name: claim })) },
        },
      ],
    },
  };
}
