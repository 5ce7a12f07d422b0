// The CPU manager in histories: a machine of five CPUs of which one comes and goes, a state file that is cut short.
import type { KubeletConfig } from "../../src/config/kubelet-config.ts";
import type { Random } from "../../src/kit/random.ts";
import { numbersOf } from "../support/cpu-list.ts";
import { FAKE_FACTS } from "./fake-host.ts";
import type { FakeContainer } from "./fake-runtime-objects.ts";
import type { World, WorldOptions } from "./world.ts";

const STATE_FILE = "/var/lib/kubelet/cpu_manager_state";
const SYSTEM = "/sys/devices/system";
const CPUS = [0, 1, 2, 3, 4];
const LAST = 4;
/** By their size the policy reserves the first. */
const RESERVED = 0;
const RATHER_LONG_MS = 3_000;
/** `cpu_shares` of a container that requests one CPU. */
const ONE_CPU_SHARES = 1024n;

/** Every so many histories are those of a node on which containers can have CPUs for themselves. */
export const CPU_SEEDS = 5;

/** Whether this one is. */
export function hasExclusiveCpus(seed: number): boolean {
  return seed % CPU_SEEDS === 0;
}

/** Four of five CPUs can be had alone: as many as there are pods. */
export function cpuWorldOptions(seed: number): WorldOptions {
  if (!hasExclusiveCpus(seed)) return {};
  const policies = ["none", "best-effort", "restricted", "single-numa-node"];
  const config: Partial<KubeletConfig> = {
    cpuManagerPolicy: "static",
    kubeReserved: { cpu: "500m" },
    topologyManagerPolicy: policies[(seed / CPU_SEEDS) % 4] ?? "none",
    topologyManagerScope: seed % (8 * CPU_SEEDS) < 4 * CPU_SEEDS ? "container" : "pod",
  };
  return { config, facts: { ...FAKE_FACTS, cpuCount: CPUS.length } };
}

/** With these every container of a pod is guaranteed its amounts, the first and what runs before it whole CPUs. */
export function cpuResources(name: string, isSidecar: boolean) {
  const isWhole = name === "c0" || (name.startsWith("i") && !isSidecar);
  const amounts = { cpu: isWhole ? "1" : "20m", memory: "16Mi" };
  return { resources: { requests: amounts, limits: amounts } };
}

interface StateText {
  readonly defaultCpuSet: string;
  readonly entries?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** CPUs that come and go, and what must hold of those that containers have alone. */
export class ExclusiveCpuFaults {
  readonly #world: World;
  readonly #random: Random;
  /** The file went while pods ran: until all has settled some run where others may, too. */
  #lost = false;

  constructor(world: World, random: Random) {
    this.#world = world;
    this.#random = random;
    this.#plug(CPUS);
    world.watch = () => this.#always();
  }

  /** Whether a pod has CPUs of its own. */
  draws(): boolean {
    return this.#random.next() < 0.6;
  }

  /** Something may happen to the CPUs or to the file. */
  async step(): Promise<void> {
    await this.#checkFile();
    await this.#repair();
    const action = this.#random.next();
    if (action < 0.04) await this.#startWithout();
    else if (action < 0.08) await this.#cutFile();
    else if (action < 0.12) this.#plug(this.#isOnline(LAST) ? CPUS.slice(0, LAST) : CPUS);
  }

  /** All CPUs are there, and the next agent starts. */
  async end(): Promise<void> {
    this.#plug(CPUS);
    const state = await this.#read();
    if (this.#world.agent && state && this.#unionOf(state).includes(LAST)) return;
    this.#world.killAgent();
    if (!state || !this.#unionOf(state).includes(LAST)) await this.#deleteFile();
  }

  /** What is in the file is what those have that run, no more and no less. */
  async settled(): Promise<void> {
    this.#lost = false;
    this.#always();
    const { defaultCpuSet, entries = {} } = (await this.#read()) ?? { defaultCpuSet: "" };
    const placed = this.#placed();
    for (const { uid, name, cpus, isOwner } of placed) {
      const expected = entries[uid]?.[name] ?? defaultCpuSet;
      if (isOwner !== (entries[uid]?.[name] !== undefined))
        this.#world.fail(`${name} of ${uid} has ${entries[uid]?.[name]} by the file`);
      if (cpus !== expected) this.#world.fail(`${name} of ${uid} runs on ${cpus}, not ${expected}`);
    }
    const uids = new Set(
      [...this.#world.runtime.sandboxes.values()].map(({ config }) => config.metadata?.uid ?? ""),
    );
    for (const uid of Object.keys(entries))
      if (!uids.has(uid)) this.#world.fail(`CPUs are left of pod ${uid}`);
    await this.#checkFile();
  }

  /** No two containers that run have the same CPU, and nobody has one that is reserved. */
  #always(): void {
    if (this.#lost) return;
    const owners = new Map<string, string>();
    for (const { id, cpus, isOwner } of this.#placed()) {
      if (!isOwner) continue;
      if (!/^[1-4]$/.test(cpus)) this.#world.fail(`${id} runs on ${cpus}, not on one CPU`);
      const other = owners.get(cpus);
      if (other !== undefined) this.#world.fail(`${other} and ${id} both have CPU ${cpus}`);
      owners.set(cpus, id);
    }
  }

  /** The file names an owner for each CPU, never two, before anything runs there. */
  async #checkFile(): Promise<void> {
    const state = await this.#read();
    if (!state) return;
    const { defaultCpuSet, entries = {} } = state;
    const owners = new Map(numbersOf(defaultCpuSet).map((cpu) => [cpu, "everybody"]));
    if (!owners.has(RESERVED)) this.#world.fail(`the reserved CPU is not in ${defaultCpuSet}`);
    for (const [uid, containers] of Object.entries(entries))
      for (const cpu of Object.values(containers).flatMap(numbersOf)) {
        const other = owners.get(cpu);
        // Containers of one pod follow each other on a CPU.
        if (other !== undefined && other !== uid)
          this.#world.fail(`by the file CPU ${cpu} belongs to ${other} and ${uid}`);
        owners.set(cpu, uid);
      }
    if (this.#lost) return;
    for (const { uid, name, cpus, isOwner } of this.#placed())
      if (isOwner && entries[uid]?.[name] !== cpus)
        this.#world.fail(
          `${name} of ${uid} runs on ${cpus}, by the file on ${entries[uid]?.[name]}`,
        );
  }

  /** `undefined` where there is none, or none that can be read. */
  async #read(): Promise<StateText | undefined> {
    const text = await this.#world.host.files.readText(STATE_FILE, { maxBytes: 1e6 });
    try {
      return text === undefined ? undefined : (JSON.parse(text) as StateText);
    } catch {
      return undefined;
    }
  }

  #plug(online: readonly number[]): void {
    const { kernelFiles } = this.#world.host;
    const onNode = (id: number) => online.filter((cpu) => cpu >= 2 === (id === 1)).join();
    this.#world.note(`CPUs that are online: ${online.join()}`);
    kernelFiles.set(`${SYSTEM}/cpu/online`, online.join());
    kernelFiles.set(`${SYSTEM}/node/online`, "0-1");
    for (const id of [0, 1]) kernelFiles.set(`${SYSTEM}/node/node${id}/cpulist`, onNode(id));
  }

  #isOnline(cpu: number): boolean {
    const online = this.#world.host.kernelFiles.get(`${SYSTEM}/cpu/online`) ?? "";
    return numbersOf(online).includes(cpu);
  }

  /** A CPU goes while no agent runs: the next one must not guess who has which. */
  async #startWithout(): Promise<void> {
    this.#world.killAgent();
    const had = await this.#read();
    this.#plug(CPUS.slice(0, LAST));
    await this.#mustNotStart(had !== undefined && this.#unionOf(had).includes(LAST));
    this.#plug(CPUS);
  }

  async #cutFile(): Promise<void> {
    const { files } = this.#world.host;
    this.#world.killAgent();
    const text = await files.readText(STATE_FILE, { maxBytes: 1e6 });
    if (text === undefined) return;
    this.#world.note("cpu_manager_state is cut short");
    await files.writeAtomic(STATE_FILE, text.slice(0, text.length / 2), 0o600);
    this.#lost = true;
    this.#world.startAgent();
    await this.#world.advance(RATHER_LONG_MS);
    const { startProblem } = this.#world;
    if (startProblem !== undefined)
      this.#world.fail(`a damaged state file stopped the start: ${startProblem}`);
  }

  async #mustNotStart(isMisfit: boolean): Promise<void> {
    this.#world.startAgent();
    await this.#world.advance(RATHER_LONG_MS);
    if (isMisfit && this.#world.agent) this.#world.fail("an agent runs that cannot know its CPUs");
    await this.#repair();
  }

  /** What the message says is done: the CPU is put back, or else the file deleted while pods run. */
  async #repair(): Promise<void> {
    const { startProblem } = this.#world;
    if (startProblem === undefined) return;
    if (
      !/could not restore state from checkpoint: .* delete the CPU manager checkpoint file/.test(
        startProblem,
      )
    )
      this.#world.fail(`the agent did not start: ${startProblem}`);
    this.#world.killAgent();
    const state = await this.#read();
    if (state && this.#unionOf(state).includes(LAST)) this.#plug(CPUS);
    else await this.#deleteFile();
    this.#world.startAgent();
  }

  async #deleteFile(): Promise<void> {
    this.#world.note("cpu_manager_state is deleted");
    this.#lost = true;
    await this.#world.host.files.remove(STATE_FILE);
  }

  #unionOf({ defaultCpuSet, entries = {} }: StateText): readonly number[] {
    const lists = Object.values(entries).flatMap((containers) => Object.values(containers));
    return [defaultCpuSet, ...lists].flatMap(numbersOf);
  }

  #placed() {
    return [...this.#world.runtime.containers.values()]
      .filter(({ state }) => state === "running")
      .map((container) => this.#placedOf(container));
  }

  #placedOf({ id, sandboxId, config }: FakeContainer) {
    const resources = config.linux?.resources;
    return {
      id,
      uid: this.#world.runtime.sandboxes.get(sandboxId)?.config.metadata?.uid ?? "",
      name: config.metadata?.name ?? "",
      cpus: resources?.cpusetCpus ?? "",
      isOwner: resources?.cpuShares === ONE_CPU_SHARES,
    };
  }
}
