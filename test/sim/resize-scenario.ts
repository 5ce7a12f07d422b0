// Resources of pods that change as they run, under fault injection (crashes, deletions, killed agents):
// nothing is ever promised twice, and finally everything has exactly what it was given.

import type { Pod } from "../../src/api/generated/types.ts";
import { allocationOf, isSameAllocation } from "../../src/api/pod/allocation.ts";
import { allContainers, isTerminalPhase } from "../../src/api/pod/pod.ts";
import { podResources } from "../../src/api/pod/pod-resources.ts";
import { createSeededRandom, type Random } from "../../src/kit/random.ts";
import type { PodRecord } from "../../src/pipeline/pods/record/record.ts";
import type { StoredObject } from "./fake-api-objects.ts";
import type { FakeApiServer } from "./fake-apiserver.ts";
import { CALM_API } from "./fake-apiserver.ts";
import { CALM } from "./fake-runtime-objects.ts";
import { resizablePod, resizedPod } from "./resize-pods.ts";
import { crash, loseSandbox, pick } from "./scenario.ts";
import { SimFailure, World } from "./world.ts";

const FAULT_PHASE_MS = 400_000;
const STEPS = 60;
const SETTLE_MS = 900_000;
const NAMESPACE = "default";

/** What became of changes in place, over many seeds. */
export interface ResizeTally {
  given: number;
  deferred: number;
  infeasible: number;
}

/** Plays one seed to its end; throws `SimFailure` with the trace of what happened. */
export async function playResizes(
  seed: number,
  tally: ResizeTally = { given: 0, deferred: 0, infeasible: 0 },
): Promise<void> {
  const world = new World(seed, {}, { cluster: true });
  const game = new ResizeGame(world, createSeededRandom(seed + 11));
  try {
    await game.injectFaults();
    await game.settle();
    await game.checkEverything(tally);
    await game.checkRestartChangesNothing();
    await game.checkCleanEnd();
  } catch (error) {
    if (!(error instanceof SimFailure)) throw error;
    throw new SimFailure(`seed ${seed}: ${error.message}\n${world.trace.slice(-80).join("\n")}`);
  }
}

class ResizeGame {
  readonly #world: World;
  readonly #api: FakeApiServer;
  readonly #random: Random;

  constructor(world: World, random: Random) {
    this.#world = world;
    this.#api = world.api as FakeApiServer;
    this.#random = random;
    world.watch = () => this.#checkPromises();
  }

  async injectFaults(): Promise<void> {
    const { runtime } = this.#world;
    runtime.options.latencyMs = pick(this.#random, [0, 50, 500]);
    runtime.options.faults = pick(this.#random, [0, 0.1]);
    runtime.options.lateFaults = pick(this.#random, [0, 0.05]);
    runtime.options.events = this.#random.next() < 0.7;
    this.#api.options.latencyMs = pick(this.#random, [2, 50, 1_000]);
    this.#api.options.faults = pick(this.#random, [0, 0.1]);
    this.#world.startAgent();
    for (let step = 0; step < STEPS; step += 1) {
      this.#disturb();
      await this.#world.advance(Math.floor((this.#random.next() * 2 * FAULT_PHASE_MS) / STEPS));
    }
  }

  #disturb(): void {
    const world = this.#world;
    const action = this.#random.next();
    if (action < 0.2) this.#make();
    else if (action < 0.55) this.#resize();
    else if (action < 0.63) this.#drop();
    else if (action < 0.68) crash(world, this.#random);
    else if (action < 0.7) loseSandbox(world, this.#random);
    else if (action < 0.76) this.#use();
    else if (action < 0.8) this.#api.goDown();
    else if (action < 0.85) this.#api.comeBack();
    else if (action < 0.88) world.runtime.goDown();
    else if (action < 0.92) world.runtime.comeBack();
    else if (action < 0.95) world.killAgent();
    else world.startAgent();
  }

  #make(): void {
    const name = `p${Math.floor(this.#random.next() * 6)}`;
    if (this.#api.objects.find({ collection: "pods", namespace: NAMESPACE, name })) return;
    const pod = resizablePod(name, this.#random);
    this.#world.note(`pod ${name} ${JSON.stringify(allocationOf(pod))}`);
    this.#api.objects.create({ collection: "pods", namespace: NAMESPACE }, { ...pod });
  }

  #pods(): readonly Pod[] {
    return this.#api.objects.list("pods") as unknown as readonly Pod[];
  }

  #resize(): void {
    const pods = this.#pods().filter(
      ({ status, metadata }) =>
        !isTerminalPhase(status?.phase) && metadata?.deletionTimestamp === undefined,
    );
    if (pods.length === 0) return;
    const pod = resizedPod(pick(this.#random, pods), this.#random);
    const { name = "", generation } = pod.metadata ?? {};
    this.#world.note(`pod ${name} asks (${generation}) for ${JSON.stringify(allocationOf(pod))}`);
    const place = { collection: "pods", namespace: NAMESPACE, name };
    this.#api.objects.update(place, false, pod as unknown as StoredObject);
  }

  #drop(): void {
    const pods = this.#pods();
    if (pods.length === 0) return;
    const { name = "" } = pick(this.#random, pods).metadata ?? {};
    this.#world.note(`pod ${name} is deleted`);
    this.#api.objects.delete({ collection: "pods", namespace: NAMESPACE, name }, {});
  }

  /** Memory of a pod is in use, so that its limit does not go below. */
  #use(bytes = Math.floor(this.#random.next() * 2 ** 32)): void {
    const groups = this.#podGroups();
    if (groups.length > 0) this.#setUsage(pick(this.#random, groups), bytes);
  }

  #podGroups(): readonly string[] {
    return this.#world.host.cgroups.paths.filter((path) => /\/pod[^/]+$/.test(path));
  }

  #setUsage(path: string, bytes: number): void {
    const { cgroups } = this.#world.host;
    const file = cgroups.version === 1 ? "memory.usage_in_bytes" : "memory.current";
    cgroups.set(path, file, String(bytes));
  }

  async settle(): Promise<void> {
    const world = this.#world;
    Object.assign(world.runtime.options, { ...CALM, events: world.runtime.options.events });
    Object.assign(this.#api.options, CALM_API);
    for (const path of this.#podGroups()) this.#setUsage(path, 0);
    world.runtime.comeBack();
    this.#api.comeBack();
    world.startAgent();
    world.note("calm");
    await world.advance(SETTLE_MS);
  }

  /** What was given to pods that may run is never more than the node has. */
  #checkPromises(): void {
    const { agent } = this.#world;
    if (!agent) return;
    const { allocatable } = agent.capacity;
    const { pods, ledger } = agent.pipeline;
    let [cpu, memory] = [0, 0];
    for (const { pod, life, uid } of pods.list()) {
      if (life.kind === "terminated" || life.kind === "released") continue;
      if (ledger.allocated(uid) === undefined) continue;
      const { requests } = podResources(ledger.asAllocated(pod));
      cpu += requests.cpuMilli;
      memory += requests.memoryBytes;
    }
    if (cpu > allocatable.cpuMilli || memory > allocatable.memoryBytes)
      this.#world.fail(`given: ${cpu}m and ${memory} bytes, more than the node has`);
  }

  /** Runtime, cgroups, statuses and files: all say what each pod was given. */
  async checkEverything(tally: ResizeTally): Promise<void> {
    const world = this.#world;
    const agent = world.agent ?? world.fail("the agent is not up");
    const records = agent.pipeline.pods.list();
    for (const record of records) {
      if (record.life.kind !== "running") continue;
      this.#checkContainers(record);
      const path = agent.subsystems.cgroups.podPath(record.pod);
      const drift = await agent.subsystems.cgroups.drift([record.pod]);
      const odd = drift.filter((each) => each.path === path);
      if (odd.length > 0)
        world.fail(`group of ${record.pod.metadata?.name}: ${JSON.stringify(odd)}`);
      this.#checkStatus(record, tally);
    }
  }

  #checkContainers({ uid, pod }: PodRecord): void {
    const world = this.#world;
    const { cgroups } = world.agent?.subsystems ?? world.fail("the agent is not up");
    for (const { id, state, sandboxId, config } of world.runtime.containers.values()) {
      const sandbox = world.runtime.sandboxes.get(sandboxId)?.config.metadata?.uid;
      if (state !== "running" || sandbox !== uid) continue;
      const name = config.metadata?.name;
      const spec = allContainers(pod).find(({ container }) => container.name === name);
      if (!spec) continue;
      const wanted = cgroups.containerResources(pod, spec.container);
      const has = config.linux?.resources ?? {};
      for (const field of ["cpuShares", "cpuQuota", "memoryLimitInBytes"] as const) {
        if (has[field] !== wanted[field])
          world.fail(`container ${id} (${name}) has ${field} ${has[field]}, not ${wanted[field]}`);
      }
    }
  }

  #checkStatus(record: PodRecord, tally: ResizeTally): void {
    const world = this.#world;
    const { pod, resize, retries } = record;
    const desired = record.desired.pod;
    const name = pod.metadata?.name ?? "";
    const found = this.#pods().find(({ metadata }) => metadata?.name === name);
    const api = found ?? world.fail(`pod ${name} is not in the API`);
    if (!isSameAllocation(allocationOf(api), allocationOf(desired)))
      world.fail(`pod ${name} is not wanted as it is in the API`);
    const conditions = api.status?.conditions ?? [];
    const pending = conditions.find(({ type }) => type === "PodResizePending");
    if (conditions.some(({ type }) => type === "PodResizeInProgress"))
      world.fail(
        `pod ${name} is still being resized: ${JSON.stringify([resize, retries.failures])}`,
      );
    const isGiven = isSameAllocation(allocationOf(pod), allocationOf(desired));
    if ((pending === undefined) !== isGiven || (resize.requested === undefined) !== isGiven)
      world.fail(`pod ${name} waits, or does not: ${JSON.stringify(pending)}`);
    if (pending) this.#checkPending(record, pending.reason ?? "");
    if (pending?.reason === "Infeasible") tally.infeasible += 1;
    else if (pending) tally.deferred += 1;
    else if ((api.metadata?.generation ?? 1) > 1) tally.given += 1;
    for (const { name: container, resources, state } of api.status?.containerStatuses ?? []) {
      const given = pod.spec?.containers.find((each) => each.name === container)?.resources;
      if (state?.running && resources?.requests?.["cpu"] !== given?.requests?.["cpu"])
        world.fail(`status of ${name}/${container}: ${JSON.stringify(resources)}`);
    }
  }

  /** A pod waits only for what is really not to be had. */
  #checkPending(record: PodRecord, reason: string): void {
    const { uid, pod } = record;
    const world = this.#world;
    const agent = world.agent ?? world.fail("the agent is not up");
    const { allocatable } = agent.capacity;
    const wanted = podResources(record.desired.pod).requests;
    const isTooLarge =
      wanted.cpuMilli > allocatable.cpuMilli || wanted.memoryBytes > allocatable.memoryBytes;
    if (isTooLarge !== (reason === "Infeasible"))
      world.fail(`pod ${pod.metadata?.name} is reported to be ${reason}`);
    let [cpu, memory] = [wanted.cpuMilli, wanted.memoryBytes];
    for (const other of agent.pipeline.pods.list()) {
      if (other.uid === uid || other.life.kind !== "running") continue;
      const { requests } = podResources(other.pod);
      cpu += requests.cpuMilli;
      memory += requests.memoryBytes;
    }
    if (cpu <= allocatable.cpuMilli && memory <= allocatable.memoryBytes)
      world.fail(`pod ${pod.metadata?.name} waits although it fits`);
  }

  /** Another agent finds everything as it should be: no container is touched, nothing is reported again. */
  async checkRestartChangesNothing(): Promise<void> {
    const world = this.#world;
    const actions = () =>
      world.runtime.actions.filter(({ op }) => /^(update|stop)/.test(op)).length;
    const conditions = () =>
      JSON.stringify(this.#pods().map(({ status }) => status?.conditions?.filter(isOfResize)));
    const before = { actions: actions(), conditions: conditions() };
    world.killAgent();
    await world.advance(1_000);
    world.startAgent();
    await world.advance(60_000);
    if (actions() !== before.actions)
      world.fail(
        `a restart changed containers: ${JSON.stringify(world.runtime.actions.slice(-5))}`,
      );
    if (conditions() !== before.conditions)
      world.fail(`a restart changed conditions: ${before.conditions} became ${conditions()}`);
  }

  async checkCleanEnd(): Promise<void> {
    const world = this.#world;
    for (const { metadata } of this.#pods()) {
      const place = { collection: "pods", namespace: NAMESPACE, name: metadata?.name ?? "" };
      this.#api.objects.delete(place, {});
    }
    await world.advance(120_000);
    for (const file of ["allocated_pods_state", "actuated_pods_state"]) {
      const path = `/var/lib/kubelet/${file}`;
      const text = (await world.host.files.readText(path, { maxBytes: 1_000_000 })) ?? "{}";
      if (text.includes("ContainerResources")) world.fail(`${file} is not empty: ${text}`);
    }
  }
}

const isOfResize = ({ type }: { readonly type: string }): boolean => type.startsWith("PodResize");
