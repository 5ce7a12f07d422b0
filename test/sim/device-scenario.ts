import type { PodUid } from "../../src/api/observation.ts";
import { createSeededRandom, type Random } from "../../src/kit/random.ts";
import { DeviceChecks } from "./device-checks.ts";
import { amountsOf, GPU, manifest, NIC, need, TEMPLATES, type Template } from "./device-pods.ts";
import type { FakeRuntime } from "./fake-runtime.ts";
import { CALM, type FakeContainer } from "./fake-runtime-objects.ts";
import { hurtRuntime } from "./hurt-runtime.ts";
import { pick } from "./scenario.ts";
import { PLUGIN_FOLDER, type PluginBehaviour, SupervisedPlugin } from "./supervised-plugin.ts";
import { MANIFESTS, SimFailure, World } from "./world.ts";

interface DesiredPod {
  readonly name: string;
  readonly text: string;
  readonly template: Template;
}

/** Total time of fault injection, and time in which everything must settle afterwards. */
const FAULT_PHASE_MS = 240_000;
const STEPS = 30;
const SETTLE_MS = 600_000;
const REFUSALS =
  /requested number of devices unavailable|no healthy devices present|previously allocated devices are no longer healthy|cannot allocate unregistered device|desc = no|Connection dropped|Deadline exceeded|lost it|has gone|No connection|change their mind/;

/** How histories ended, over all seeds that were played. */
export interface DeviceTally {
  running: number;
  refused: number;
  done: number;
}

/** Plays one history of plugins, devices and pods; throws `SimFailure` with the trace of what happened. */
export async function playDevices(seed: number, tally?: DeviceTally): Promise<void> {
  const keepInitDevices = seed % 5 === 0;
  const waitMs = seed % 4 === 0 ? 0 : 120_000;
  const world = new World(seed, {}, { devices: { waitMs, keepInitDevices } });
  await world.host.files.makeDirectory(PLUGIN_FOLDER, 0o750);
  await world.host.files.makeDirectory(MANIFESTS, 0o755);
  const game = new Game(world, createSeededRandom(seed + 2), { keepInitDevices, waitMs });
  try {
    await game.injectFaults();
    await game.settle();
    game.checkSettled(tally);
    await game.checkRestart();
    await game.checkCleanEnd();
  } catch (error) {
    if (!(error instanceof SimFailure)) throw error;
    throw new SimFailure(
      `device seed ${seed}: ${error.message}\n${world.trace.slice(-90).join("\n")}`,
    );
  }
}

interface GameSettings {
  readonly keepInitDevices: boolean;
  readonly waitMs: number;
}

class Game {
  readonly #world: World;
  readonly #random: Random;
  readonly #settings: GameSettings;
  readonly #plugins: readonly SupervisedPlugin[];
  readonly #checks: DeviceChecks;
  readonly #desiredPods = new Map<string, DesiredPod>();
  /** Where nothing waits, a pod whose plugin is unknown runs without devices, as with the Go kubelet. */
  #without = false;

  constructor(world: World, random: Random, settings: GameSettings) {
    this.#world = world;
    this.#random = random;
    this.#settings = settings;
    const machine = {
      clock: world.clock,
      files: world.host.files,
      grpc: world.grpc,
      random,
      note: (text: string) => world.note(text),
    };
    const devices = (prefix: string, amount: number) =>
      Array.from({ length: amount }, (_, i) => ({ id: `${prefix}${i}`, nodes: [i % 2] }));
    this.#plugins = [
      new SupervisedPlugin(GPU, devices("g", 8), machine),
      new SupervisedPlugin(NIC, devices("n", 4), machine),
    ];
    this.#checks = new DeviceChecks(world, this.#plugins);
    this.#checks.gentle = random.next() < 0.5;
  }

  async injectFaults(): Promise<void> {
    const { runtime, grpc } = this.#world;
    runtime.options.latencyMs = pick(this.#random, [0, 50, 500]);
    runtime.options.events = this.#random.next() < 0.7;
    if (!this.#checks.gentle) runtime.options.faults = pick(this.#random, [0, 0.05]);
    grpc.options.latencyMs = pick(this.#random, [0, 20, 400]);
    grpc.options.faults = pick(this.#random, [0, 0.05, 0.2]);
    if (this.#random.next() < 0.8) for (const plugin of this.#plugins) plugin.start();
    this.#world.startAgent();
    for (let step = 0; step < STEPS; step += 1) {
      await this.#disturb();
      await this.#world.advance(Math.floor((this.#random.next() * 2 * FAULT_PHASE_MS) / STEPS));
    }
  }

  async #disturb(): Promise<void> {
    const action = this.#random.next();
    const plugin = pick(this.#random, this.#plugins);
    if (action < 0.3) await this.#addDesired();
    else if (action < 0.4) await this.#drop();
    else if (action < 0.52) this.#flip(plugin);
    else if (action < 0.58) plugin.kill();
    else if (action < 0.7) plugin.start();
    else if (action < 0.78)
      plugin.behaviour = pick<PluginBehaviour>(this.#random, [
        "well",
        "well",
        "refusing",
        "slow",
        "hanging",
        "dying",
      ]);
    else if (action < 0.82) this.#resize(plugin);
    else if (action < 0.88) this.#world.killAgent();
    else if (action < 0.9) await this.#stopAgent();
    else if (action < 0.96 || this.#checks.gentle) this.#world.startAgent();
    else hurtRuntime(this.#world, this.#random);
  }

  async #addDesired(): Promise<void> {
    const name = `p${Math.floor(this.#random.next() * 5)}`;
    const template = pick(this.#random, TEMPLATES);
    const text = manifest(name, template, Math.floor(this.#random.next() * 2));
    const before = this.#desiredPods.get(name);
    this.#desiredPods.set(name, { name, text, template });
    if (before?.text !== text) this.#checks.changedAt.set(name, this.#world.clock.monotonic());
    this.#world.note(`manifest ${name}: ${JSON.stringify(template)}`);
    await this.#world.host.files.writeAtomic(`${MANIFESTS}/${name}.json`, text, 0o644);
  }

  async #drop(): Promise<void> {
    const names = [...this.#desiredPods.keys()];
    if (names.length === 0) return;
    const name = pick(this.#random, names);
    this.#desiredPods.delete(name);
    this.#checks.changedAt.delete(name);
    this.#world.note(`manifest ${name} removed`);
    await this.#world.host.files.remove(`${MANIFESTS}/${name}.json`);
  }

  #flip(plugin: SupervisedPlugin): void {
    const at = Math.floor(this.#random.next() * plugin.devices.length);
    plugin.devices = plugin.devices.map((each, i) =>
      i === at ? { ...each, healthy: each.healthy === false } : each,
    );
    this.#world.note(
      `${plugin.resource} ${plugin.devices[at]?.id} healthy: ${plugin.devices[at]?.healthy !== false}`,
    );
  }

  /** The last device goes, or comes back. */
  #resize(plugin: SupervisedPlugin): void {
    const full = plugin.resource === GPU ? 8 : 4;
    const next = plugin.devices.length === full ? full - 1 : full;
    this.#setSize(plugin, next);
  }

  #setSize(plugin: SupervisedPlugin, amount: number): void {
    const prefix = plugin.resource === GPU ? "g" : "n";
    plugin.devices = Array.from(
      { length: amount },
      (_, i) => plugin.devices[i] ?? { id: `${prefix}${i}`, nodes: [i % 2] },
    );
    this.#world.note(`${plugin.resource} has ${amount} devices`);
  }

  async #stopAgent(): Promise<void> {
    let done = false;
    const stopping = this.#world.stopAgent().finally(() => {
      done = true;
    });
    for (let i = 0; i < 600 && !done; i += 1) await this.#world.advance(100);
    if (!done) this.#world.fail("the agent does not leave");
    await stopping;
  }

  async settle(): Promise<void> {
    const { runtime, grpc } = this.#world;
    Object.assign(runtime.options, { ...CALM, events: runtime.options.events });
    Object.assign(grpc.options, { latencyMs: 0, faults: 0 });
    for (const plugin of this.#plugins) {
      plugin.behaviour = "well";
      this.#setSize(plugin, plugin.resource === GPU ? 8 : 4);
      plugin.devices = plugin.devices.map((each) => ({ ...each, healthy: true }));
      plugin.start();
    }
    this.#world.startAgent();
    this.#world.note("calm");
    await this.#world.advance(SETTLE_MS);
  }

  /** What is owned is what those need that run, no more and no less, and all the rest is free. */
  checkSettled(tally?: DeviceTally): void {
    const { agent } = this.#world;
    if (!agent) this.#world.fail("the agent is not up");
    const needed = new Map([
      [GPU, 0],
      [NIC, 0],
    ]);
    for (const desiredPod of this.#desiredPods.values()) {
      const ended = this.#checkDesired(desiredPod);
      if (tally) tally[ended] += 1;
      if (ended !== "running") continue;
      for (const resource of needed.keys())
        needed.set(
          resource,
          (needed.get(resource) ?? 0) +
            need(desiredPod.template, resource, this.#settings.keepInitDevices),
        );
    }
    const { capacity } = agent.subsystems.devices;
    for (const { resource, counts } of agent.subsystems.devices.report().resources) {
      const all = resource === GPU ? 8 : 4;
      const owned = needed.get(resource) ?? 0;
      if (this.#without) continue;
      if (counts.owned !== owned || counts.free !== all - owned || counts.unusable !== 0)
        this.#world.fail(
          `${resource}: ${JSON.stringify(counts)}, but ${owned} of ${all} are needed`,
        );
      const shown = capacity.get().counts.get(resource);
      if (shown?.capacity !== all || shown.allocatable !== all)
        this.#world.fail(`${resource}: the node shows ${JSON.stringify(shown)} of ${all}`);
    }
  }

  #checkDesired({ name, template }: DesiredPod): "running" | "refused" | "done" {
    const found = (this.#world.agent?.pipeline.statuses.list() ?? []).filter(
      ({ pod }) => pod.metadata?.name === `${name}-sim`,
    );
    const [pod] = found;
    if (!pod || found.length !== 1) this.#world.fail(`pod ${name} is there ${found.length} times`);
    const { phase, reason, message = "" } = pod.status;
    if (phase === "Failed" && reason === "UnexpectedAdmissionError" && REFUSALS.test(message))
      return "refused";
    if (template.finite === true && phase === "Succeeded") return "done";
    if (template.finite !== true && phase === "Running") {
      this.#checkContainers(pod.uid, template, name);
      return "running";
    }
    return this.#world.fail(`pod ${name} is ${phase} ${reason ?? ""} ${message}`);
  }

  #checkContainers(uid: string, { init, containers }: Template, name: string): void {
    const { runtime } = this.#world;
    const parts = [
      ...init.map((part, i) => ({ ...part, name: `i${i}` })),
      ...containers.map((part, i) => ({ ...part, name: `c${i}` })),
    ];
    if (this.#settings.waitMs === 0) {
      this.#without ||= [...runtime.containers.values()].some((container) => {
        const part = parts.find((each) => each.name === container.config.metadata?.name);
        if (!part || !isOf(container, uid, runtime)) return false;
        const noted = this.#checks.notedOf(container);
        return amountsOf(part).some(([resource, amount]) => amount > 0 && !noted.has(resource));
      });
    }
    for (const part of parts.filter(({ program }) => program.kind === "sleep")) {
      const container = [...runtime.containers.values()].find(
        ({ state, config, sandboxId }) =>
          state === "running" &&
          config.metadata?.name === part.name &&
          runtime.sandboxes.get(sandboxId)?.config.metadata?.uid === uid,
      );
      if (!container) this.#world.fail(`${part.name} of ${name} does not run`);
      const noted = this.#checks.notedOf(container);
      for (const [resource, amount] of amountsOf(part))
        if (!this.#without && (noted.get(resource)?.length ?? 0) !== amount)
          this.#world.fail(
            `${part.name} of ${name} has ${noted.get(resource)} of ${resource} and requests ${amount}`,
          );
    }
  }

  /** A new agent leaves everything that runs as it is, and asks no plugin for anything for it. */
  async checkRestart(): Promise<void> {
    const { runtime } = this.#world;
    const holders = new Set(this.#world.agent?.subsystems.devices.state.ledger.pods.keys());
    const asked = () =>
      holders.size === this.#desiredPods.size
        ? this.#plugins.map((plugin) => plugin.asked).join()
        : "";
    const picture = () =>
      JSON.stringify({
        held: this.#heldBy(holders),
        asked: asked(),
        actions: runtime.actions.filter(({ uid }) => holders.has(uid as PodUid)).length,
      });
    const before = picture();
    this.#world.killAgent();
    await this.#world.advance(500);
    this.#world.startAgent();
    await this.#world.advance(60_000);
    const after = picture();
    if (after !== before) this.#world.fail(`a restart changed ${before} to ${after}`);
  }

  #heldBy(pods: ReadonlySet<PodUid>): readonly string[] {
    const { owners } = this.#world.agent?.subsystems.devices.state.ledger ?? { owners: new Map() };
    return [...owners]
      .flatMap(([resource, ids]) =>
        [...ids].flatMap(([id, uid]) => (pods.has(uid) ? [`${resource} ${id} ${uid}`] : [])),
      )
      .sort();
  }

  /** When no pod is desired any more nothing is owned. */
  async checkCleanEnd(): Promise<void> {
    const { files } = this.#world.host;
    for (const name of this.#desiredPods.keys()) await files.remove(`${MANIFESTS}/${name}.json`);
    this.#desiredPods.clear();
    this.#checks.changedAt.clear();
    await this.#world.advance(120_000);
    this.checkSettled();
    const text = await files.readText(`${PLUGIN_FOLDER}/kubelet_internal_checkpoint`, {
      maxBytes: 1e6,
    });
    if (text !== undefined && !text.includes(`"PodDeviceEntries":null`))
      this.#world.fail(`the checkpoint still has entries: ${text}`);
  }
}

function isOf({ sandboxId }: FakeContainer, uid: string, runtime: FakeRuntime): boolean {
  return runtime.sandboxes.get(sandboxId)?.config.metadata?.uid === uid;
}
