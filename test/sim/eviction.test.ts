// A node that runs out of memory, in seeded histories: the agent is killed at any moment of an eviction, the runtime
// fails and is late. Whatever happens, the right pod goes, no second one does, and everybody is told why.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node, Pod } from "../../src/api/generated/types.ts";
import { createSeededRandom, type Random } from "../../src/kit/random.ts";
import { conditionOf, podOf } from "./cluster-world.ts";
import type { FakeApiServer } from "./fake-apiserver.ts";
import { FAKE_FACTS } from "./fake-host.ts";
import { CALM } from "./fake-runtime-objects.ts";
import { pick } from "./scenario.ts";
import { MANIFESTS, SimFailure, World } from "./world.ts";

const SEEDS = 25;
const MI = 2 ** 20;
const THRESHOLD_MI = 100;
const PRESSURE = "MemoryPressure";
/** What each pod holds, in MiB; `hog` goes, since it alone exceeds its request by so much. */
const HOLDS: Readonly<Record<string, number>> = { small: 10, within: 500, hog: 600, other: 200 };
const REQUESTS: Readonly<Record<string, string>> = { within: "1Gi", other: "300Mi" };
const TRANSITION_MS = 300_000;

/** A node whose memory is what its pods hold and what the machine itself takes. */
class MemoryWorld {
  readonly world: World;
  readonly api: FakeApiServer;
  /** What others than pods hold, in MiB. */
  machineMi = 1_000;

  constructor(seed: number) {
    this.world = new World(seed, {}, { cluster: true });
    assert.ok(this.world.api);
    this.api = this.world.api;
    this.world.watch = () => this.#count();
  }

  pod(name: string): Pod | undefined {
    return this.api.objects.find({ collection: "pods", namespace: "default", name }) as
      | Pod
      | undefined;
  }

  node(): Node | undefined {
    return this.api.objects.find({
      collection: "nodes",
      namespace: undefined,
      name: "sim",
    }) as Node | undefined;
  }

  create(name: string): void {
    const pod = podOf(name, { kind: "sleep" }, "Always") as { spec: { containers: object[] } };
    const [container] = pod.spec.containers;
    const memory = REQUESTS[name];
    const resources = memory === undefined ? {} : { requests: { memory } };
    this.api.objects.create(
      { collection: "pods", namespace: "default" },
      { ...pod, spec: { ...pod.spec, containers: [{ ...container, resources }] } },
    );
  }

  /** Memory of pods that run is in their groups, and all of it in the machine's. */
  #count(): void {
    const { host, runtime } = this.world;
    let usedMi = this.machineMi;
    for (const { sandboxId, state } of runtime.containers.values()) {
      const config = runtime.sandboxes.get(sandboxId)?.config;
      if (state !== "running" || !config) continue;
      const heldMi = HOLDS[config.metadata?.name ?? ""] ?? 0;
      usedMi += heldMi;
      this.#set(config.linux?.cgroupParent ?? "", heldMi);
    }
    const totalKb = FAKE_FACTS.memoryBytes / 1024;
    const freeKb = totalKb - usedMi * 1024;
    host.kernelFiles.set("/proc/meminfo", `MemTotal: ${totalKb} kB\nMemFree: ${freeKb} kB`);
    if (host.cgroups.version === 1) this.#set("/", usedMi);
  }

  #set(path: string, mi: number): void {
    const { cgroups } = this.world.host;
    if (!cgroups.paths.includes(path)) return;
    const file = cgroups.version === 1 ? "memory.usage_in_bytes" : "memory.current";
    cgroups.set(path, file, String(mi * MI));
  }

  get leftMi(): number {
    const free = /MemFree: (\d+)/.exec(this.world.host.kernelFiles.get("/proc/meminfo") ?? "")?.[1];
    return Number(free) / 1024;
  }
}

const isEvicted = (pod: Pod | undefined) =>
  pod?.status?.phase === "Failed" && pod.status.reason === "Evicted";

async function play(seed: number): Promise<void> {
  const node = new MemoryWorld(seed);
  const { world } = node;
  try {
    await pressure(node, createSeededRandom(seed + 9));
  } catch (error) {
    throw new SimFailure(
      `seed ${seed}: ${error instanceof Error ? error.message : String(error)}\n${world.trace.slice(-60).join("\n")}`,
    );
  }
}

async function pressure(node: MemoryWorld, random: Random): Promise<void> {
  const { world } = node;
  await world.host.files.makeDirectory(MANIFESTS, 0o755);
  world.startAgent();
  for (const name of Object.keys(HOLDS)) node.create(name);
  await world.advance(60_000);
  for (const name of Object.keys(HOLDS))
    assert.equal(conditionOf(node.pod(name), "Ready"), "True", name);
  assert.equal(conditionOf(node.node(), PRESSURE), "False");
  await disturbed(node, random);
  world.startAgent();
  Object.assign(world.runtime.options, CALM);
  await world.advance(120_000);
  const evicted = Object.keys(HOLDS).filter((name) => isEvicted(node.pod(name)));
  assert.deepEqual(evicted, ["hog"], `who is evicted; ${node.leftMi} MiB are left`);
  const { status } = node.pod("hog") ?? {};
  assert.match(
    status?.message ?? "",
    /^The node was low on resource: memory\. Threshold quantity: /,
  );
  assert.equal(conditionOf(node.pod("hog"), "DisruptionTarget"), "True");
  for (const name of ["small", "within", "other"])
    assert.equal(conditionOf(node.pod(name), "Ready"), "True", name);
  await world.advance(TRANSITION_MS);
  assert.equal(conditionOf(node.node(), PRESSURE), "False");
  assert.ok(node.leftMi > THRESHOLD_MI);
}

/** Memory runs out, and the agent is killed several times while something is done about it. */
async function disturbed(node: MemoryWorld, random: Random): Promise<void> {
  const { world } = node;
  Object.assign(world.runtime.options, {
    latencyMs: pick(random, [0, 50, 500]),
    faults: pick(random, [0, 0, 0.2]),
  });
  const held = Object.values(HOLDS).reduce((sum, mi) => sum + mi, 0);
  world.note("memory runs out");
  node.machineMi = FAKE_FACTS.memoryBytes / MI - held - THRESHOLD_MI + pick(random, [1, 50, 99]);
  for (let times = pick(random, [0, 1, 2, 4]); times > 0; times -= 1) {
    await world.advance(Math.floor(random.next() * 14_000));
    world.killAgent();
    await world.advance(Math.floor(random.next() * 3_000));
    world.startAgent();
  }
}

test(`a node that runs out of memory: ${SEEDS} seeds`, async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) await play(seed);
});

test("while it lasts the node says so, and refuses pods that promise nothing", async () => {
  const node = new MemoryWorld(3);
  const { world } = node;
  await world.host.files.makeDirectory(MANIFESTS, 0o755);
  world.startAgent();
  node.create("within");
  await world.advance(30_000);
  node.machineMi = FAKE_FACTS.memoryBytes / MI - 550;
  await world.advance(20_000);
  assert.equal(conditionOf(node.node(), PRESSURE), "True");
  node.create("small");
  node.create("other");
  await world.advance(20_000);
  const { status } = node.pod("small") ?? {};
  assert.deepEqual(
    [status?.phase, status?.reason, status?.message],
    ["Failed", "Evicted", "Pod was rejected: The node had condition: [MemoryPressure]. "],
  );
  assert.notEqual(node.pod("other")?.status?.reason, "Evicted");
  await world.advance(TRANSITION_MS + 60_000);
  assert.equal(conditionOf(node.node(), PRESSURE), "False");
});
