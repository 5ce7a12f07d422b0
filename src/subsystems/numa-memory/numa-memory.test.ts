import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeHost } from "../../../test/sim/fake-host.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import type { Container } from "../../api/generated/types.ts";
import type { PodUid } from "../../api/observation.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { UsageError } from "../../kit/errors.ts";
import { silentLog } from "../../kit/log.ts";
import { MetricsRegistry } from "../../kit/metrics.ts";
import { StateFiles } from "../../kit/state/state-files.ts";
import type { NumaCapacity } from "./memory-state.ts";
import { NumaMemory } from "./numa-memory.ts";

const FILE = "/var/lib/kubelet/memory_manager_state";
const MI = 2 ** 20;

const nodes = (reserved = 1) =>
  [7, 8].map((size, id) => ({
    id,
    memoryBytes: size * MI + (id === 0 ? reserved * MI : 0),
    hugePages: [],
    reserved: new Map(id === 0 ? [["memory", reserved * MI]] : []),
  }));

/** `init 4, side 3, 2`: a guaranteed pod with so many Mi. */
function podOf(uid: string, text: string): IdentifiedPod {
  const all = text.split(", ").map((part, i) => {
    const [size, kind] = part.split(" ").reverse();
    const list = { cpu: "1", memory: `${size}Mi` };
    const container: Container = {
      name: `c${i}`,
      resources: { requests: list, limits: list },
      ...(kind === "side" ? { restartPolicy: "Always" } : {}),
    };
    return { kind, container };
  });
  const of = (isInit: boolean) =>
    all.filter(({ kind }) => (kind !== undefined) === isInit).map(({ container }) => container);
  return {
    metadata: { name: uid, namespace: "default", uid: uid as PodUid },
    spec: { initContainers: of(true), containers: of(false) },
  };
}

/** The machine over several runs of the agent. */
class World {
  podLevel: "pod" | undefined;
  readonly clock = new SimClock();
  readonly host = new FakeHost({ clock: this.clock });
  metrics = new MetricsRegistry();
  memory: NumaMemory = this.make(nodes());

  make(given: readonly NumaCapacity[] | undefined): NumaMemory {
    const { clock, host } = this;
    this.metrics = new MetricsRegistry();
    const state = new StateFiles({ files: host.files, clock, log: silentLog });
    return new NumaMemory(
      { nodes: given, file: FILE, podLevel: this.podLevel },
      { state, metrics: this.metrics, log: silentLog },
    );
  }

  /** Starts the agent once more. */
  async restart(given: ReturnType<typeof nodes> | "None" = nodes()): Promise<void> {
    this.memory = this.make(given === "None" ? undefined : given);
    await this.memory.start();
  }

  grant(pod: IdentifiedPod, mask?: number) {
    const names = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
    const placement = new Map(names.map(({ name }) => [name, mask]));
    return this.memory.grant(pod, placement, new Set());
  }

  observe(pod: IdentifiedPod, change: { ended?: boolean; running?: readonly string[] } = {}): void {
    const { ended = false, running = [] } = change;
    const uid = pod.metadata.uid;
    this.memory.observe({ uid, pod, known: true, ended, running: new Set(running) });
  }

  async file(): Promise<string> {
    await this.clock.advance(1);
    return (await this.host.files.readText(FILE, { maxBytes: 1e6 })) ?? "";
  }

  /** Counters of what was given to whom, in short. */
  given(): readonly string[] {
    const lines = this.metrics.expose().matchAll(/^kubelet_resource_manager_(.*)$/gm);
    return [...lines].map(([, line = ""]) => line).sort();
  }

  counts(): readonly number[] {
    const line = /^kubelet_memory_manager_pinning_(requests|errors)_total (\d+)$/gm;
    return [...this.metrics.expose().matchAll(line)].map(([, , count]) => Number(count));
  }
}

async function started(): Promise<World> {
  const world = new World();
  await world.host.files.makeDirectory("/var/lib/kubelet", 0o750);
  await world.memory.start();
  return world;
}

test("a container is assigned memory at admission, keeps it over a restart, and gives it back at its end", async () => {
  const world = await started();
  const empty = await world.file();
  const pod = podOf("p", "3");
  assert.deepEqual(await world.grant(pod, 2), { kind: "granted" });
  assert.equal(world.memory.nodesFor(pod, "c0"), "1");
  const full = await world.file();
  assert.match(
    full,
    /"entries":\{"p":\{"c0":\[\{"numaAffinity":\[1\],"type":"memory","size":3145728\}\]\}\}/,
  );

  await world.restart();
  assert.equal(world.memory.nodesFor(pod, "c0"), "1");
  assert.deepEqual(await world.grant(pod, 1), { kind: "granted" });
  assert.equal(await world.file(), full, "a pod that is admitted again keeps its nodes");
  assert.deepEqual(world.memory.draft(pod, "c0")?.hints("c0"), [[{ mask: 2, preferred: true }]]);

  world.observe(pod, { ended: true });
  assert.equal(world.memory.nodesFor(pod, "c0"), undefined);
  assert.equal(await world.file(), empty);
});

test("a pod for which there is no memory is refused as a whole", async () => {
  const world = await started();
  assert.deepEqual(await world.grant(podOf("p", "7, 9")), {
    kind: "refused",
    reason: "UnexpectedAdmissionError",
    message:
      "Allocate failed due to [memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available, which is unexpected",
  });
  assert.deepEqual(world.counts(), [2, 1].toSorted());
  assert.doesNotMatch(await world.file(), /entries/);
  assert.deepEqual(await world.grant(podOf("q", "7, 8")), { kind: "granted" });
});

test("pods that are not guaranteed, and those with resources as a whole, are assigned nothing", async () => {
  const world = await started();
  const burstable: IdentifiedPod = {
    metadata: { name: "b", namespace: "default", uid: "b" as PodUid },
    spec: { containers: [{ name: "c", resources: { requests: { memory: "1Mi" } } }] },
  };
  const whole = podOf("w", "1");
  const resources = { requests: { cpu: "1", memory: "1Mi" }, limits: { cpu: "1", memory: "1Mi" } };
  const asWhole = {
    ...whole,
    spec: { ...whole.spec, containers: whole.spec?.containers ?? [], resources },
  };
  for (const pod of [burstable, asWhole]) {
    assert.equal(world.memory.draft(pod, undefined), undefined);
    assert.deepEqual(await world.grant(pod), { kind: "granted" });
    assert.equal(world.memory.nodesFor(pod, "c"), undefined);
  }
  assert.deepEqual(world.counts(), [0, 0]);
  const empty = { ...asWhole, spec: { ...asWhole.spec, resources: {} } };
  assert.notEqual(world.memory.draft(empty, undefined), undefined, "no amounts are no resources");
});

test("memory of an init container is free when the next container is made; made again it stays on the pod's nodes", async () => {
  const world = await started();
  const pod = podOf("p", "init 7, 2");
  await world.grant(pod, 1);
  assert.deepEqual(await world.grant(podOf("q", "4"), 1), {
    kind: "refused",
    reason: "UnexpectedAdmissionError",
    message:
      "Allocate failed due to [memorymanager] failed to find NUMA nodes to extend the current topology hint, which is unexpected",
  });
  assert.equal(world.memory.nodesFor(pod, "c0"), "0");
  assert.equal(world.memory.nodesFor(pod, "c1"), "0");
  assert.deepEqual(await world.grant(podOf("q", "4"), 1), { kind: "granted" });
  assert.equal(world.memory.nodesFor(pod, "c0"), "0");
  await world.restart();
  assert.deepEqual(await world.grant(pod, 1), { kind: "granted" }, "it needs no memory again");
});

test("pods that went while the agent was away give back their memory", async () => {
  const world = await started();
  await world.grant(podOf("p", "7"), 1);
  await world.grant(podOf("q", "8"), 2);
  await world.restart();
  world.memory.sourcesSeen((uid) => uid === "q");
  assert.deepEqual(await world.grant(podOf("r", "7")), { kind: "granted" });
  assert.equal(world.memory.nodesFor(podOf("r", "7"), "c0"), "0");
});

test("a pod that runs without an entry is assigned what is left", async () => {
  const world = await started();
  const pod = podOf("p", "init 4, 8");
  world.observe(pod, { running: ["c1"] });
  assert.equal(world.memory.nodesFor(pod, "c1"), "1");
  world.observe(podOf("q", "9"), { running: ["c0"] });
  assert.equal(world.memory.nodesFor(podOf("q", "9"), "c0"), undefined);
  assert.match(await world.file(), /"entries":\{"p":\{"c1":/);
});

const FRAME = (why: string) =>
  new UsageError(
    `could not restore state from checkpoint: [memorymanager] ${why}, please drain this node and delete the memory manager checkpoint file "${FILE}" before restarting Kubelet`,
  );

test("settings that the file does not fit stop the start", async () => {
  const world = await started();
  await assert.rejects(
    world.restart("None"),
    FRAME('configured policy "None" differs from state checkpoint policy "Static"'),
  );
  await assert.rejects(
    world.restart(nodes(2)),
    FRAME(
      "the expected machine state is different from the real one: NUMA node 0: total of memory was 8388608 and is 9437184",
    ),
  );
  const none = '{"policyName":"None","machineState":{},"checksum":4236770233}';
  await world.host.files.writeAtomic(FILE, none, 0o600);
  await assert.rejects(
    world.restart(),
    FRAME('configured policy "Static" differs from state checkpoint policy "None"'),
  );
});

test("a file that is cut short is set aside, and what runs is assigned again", async () => {
  const world = await started();
  const pod = podOf("p", "8");
  await world.grant(pod);
  const text = await world.file();
  await world.host.files.writeAtomic(FILE, text.slice(0, 50), 0o600);
  await world.restart();
  world.observe(pod, { running: ["c0"] });
  assert.equal(await world.file(), text);
  const kept = await world.host.files.readText(`${FILE}.broken`, { maxBytes: 1e6 });
  assert.equal(kept, text.slice(0, 50));
});

test("with policy None nothing is written and nothing assigned", async () => {
  const world = new World();
  await world.host.files.makeDirectory("/var/lib/kubelet", 0o750);
  await world.restart("None");
  const pod = podOf("p", "3");
  assert.equal(world.memory.draft(pod, undefined), undefined);
  assert.deepEqual(await world.grant(pod), { kind: "granted" });
  world.observe(pod, { running: ["c0"] });
  assert.equal(world.memory.nodesFor(pod, "c0"), undefined);
  assert.equal(await world.file(), "");
  assert.deepEqual(world.memory.held.allocatable(), {});
});

test("monitors read blocks with their nodes, and what may be assigned", async () => {
  const world = await started();
  const pod = podOf("p", "9");
  await world.grant(pod);
  const shown = (memoryType: string, size: number, ids: readonly number[]) => ({
    memoryType,
    size: BigInt(size * MI),
    topology: { nodes: ids.map((id) => ({ ID: BigInt(id) })) },
  });
  assert.deepEqual(
    world.memory.held.heldBy(pod),
    new Map([["c0", { memory: [shown("memory", 9, [0, 1])] }]]),
  );
  assert.deepEqual(world.memory.held.allocatable(), {
    memory: [shown("memory", 7, [0]), shown("memory", 8, [1])],
  });
  const hugePages = [
    { type: "hugepages-1Gi", bytes: 0 },
    { type: "hugepages-2Mi", bytes: 2 * MI },
  ];
  const withPages = world.make(nodes().map((node) => ({ ...node, hugePages })));
  assert.deepEqual(
    withPages.held.allocatable().memory?.map(({ memoryType }) => memoryType),
    ["memory", "hugepages-2Mi", "memory", "hugepages-2Mi"],
    "types of which there is nothing are left out",
  );
});

test("hints of the pod are for what it needs at once", async () => {
  const world = await started();
  const hints = (text: string) => world.memory.draft(podOf("p", text), undefined)?.podHints();
  assert.deepEqual(hints("3, 5"), [
    [
      { mask: 2, preferred: true },
      { mask: 3, preferred: false },
    ],
  ]);
  assert.deepEqual(hints("init 8, side 3, 4"), hints("3, 5"));
  assert.deepEqual(hints("side 3, init 5, 4"), hints("3, 5"));
  assert.deepEqual(hints("side 3, init 6, 4"), [[{ mask: 3, preferred: true }]]);
  assert.deepEqual(hints("16"), [], "no set of nodes is no preference");
});

test("a pod with memory as a whole: all its containers are on its nodes, over a restart and until its end", async () => {
  const world = await started();
  world.podLevel = "pod";
  await world.restart();
  const pod = podOf("p", "init 4, 1, 2");
  const amounts = { cpu: "3", memory: "5Mi" };
  const whole = {
    ...pod,
    spec: { ...pod.spec, resources: { requests: amounts, limits: amounts } },
  };
  const granted = await world.grant(whole as IdentifiedPod, 2);
  assert.deepEqual(granted, { kind: "granted" });
  assert.deepEqual(world.given(), [
    'allocations_total{resource_name="memory",source="pod"} 3',
    'container_assignments_total{assignment_type="pod_exclusive",resource_name="memory"} 3',
  ]);
  const nodesOf = () =>
    ["c0", "c1", "c2", "debug"].map((name) => world.memory.nodesFor(whole as IdentifiedPod, name));
  assert.deepEqual(nodesOf(), ["1", "1", "1", undefined]);
  const kept = await world.file();
  await world.restart();
  assert.deepEqual(nodesOf(), ["1", "1", "1", undefined]);
  assert.deepEqual(await world.grant(whole as IdentifiedPod, 2), { kind: "granted" });
  assert.equal(await world.file(), kept);
  const held = [...world.memory.held.heldBy(whole as IdentifiedPod).keys()];
  assert.deepEqual(held, ["c0", "c1", "c2"]);
  world.observe(whole as IdentifiedPod, { ended: true });
  assert.deepEqual(nodesOf(), [undefined, undefined, undefined, undefined]);
});

test("with managers for pods as a whole, what containers are assigned is counted; without, nothing is", async () => {
  const world = await started();
  assert.deepEqual(await world.grant(podOf("before", "1")), { kind: "granted" });
  assert.deepEqual(world.given(), []);
  world.podLevel = "pod";
  await world.restart();
  assert.deepEqual(await world.grant(podOf("one", "init 1, 2")), { kind: "granted" });
  assert.deepEqual(await world.grant(podOf("one", "init 1, 2")), { kind: "granted" });
  assert.equal((await world.grant(podOf("too-much", "99"))).kind, "refused");
  assert.deepEqual(world.given(), [
    'allocation_errors_total{resource_name="memory",source="node"} 1',
    'allocations_total{resource_name="memory",source="node"} 2',
    'container_assignments_total{assignment_type="node_exclusive",resource_name="memory"} 2',
  ]);
});
