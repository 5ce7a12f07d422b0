import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeHost } from "../../../test/sim/fake-host.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { aContainer, anAttempt, at } from "../../../test/support/pods.ts";
import type { PodUid } from "../../api/observation.ts";
import { isSameFact, type PodFact } from "../../api/pod-facts.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { CellMap } from "../../kit/cell-map.ts";
import { OutsideError, UsageError } from "../../kit/errors.ts";
import { silentLog } from "../../kit/log.ts";
import { MetricsRegistry } from "../../kit/metrics.ts";
import { createSeededRandom, type Random } from "../../kit/random.ts";
import { TaskScope } from "../../kit/scope.ts";
import { StateFiles } from "../../kit/state/state-files.ts";
import { decodeCpuState } from "./checkpoint.ts";
import { ExclusiveCpus } from "./cpus.ts";
import { cpuOptionsOf } from "./options.ts";
import { MACHINES, machineOf } from "./take/machines.vectors.ts";
import { unitsOf } from "./take/units.ts";

const FILE = "/var/lib/kubelet/cpu_manager_state";
const SETTLED_MS = 30_000;
const HISTORIES = Number(process.env["NODELET_CPU_HISTORIES"] ?? 60);
const STEPS = 30;

/** A machine, its runtime and one agent after the other. */
class World {
  readonly clock = new SimClock();
  readonly host = new FakeHost({ clock: this.clock });
  /** What the runtime lets containers use, by id. */
  readonly cpusets = new Map<string, string>();
  readonly pods = new Map<PodUid, IdentifiedPod>();
  updates = 0;
  failing = false;
  podLevel: "pod" | undefined;
  scope = this.#newScope();
  facts = new CellMap<PodUid, PodFact>(isSameFact);
  cpus = this.#make(MACHINES.A);
  metrics = new MetricsRegistry();

  #newScope(): TaskScope {
    return new TaskScope("cpus", { clock: this.clock, log: silentLog });
  }

  #make(machine: (typeof MACHINES)["A"]): ExclusiveCpus {
    const { clock, host } = this;
    const state = new StateFiles({ files: host.files, clock, log: silentLog });
    const policy = {
      units: unitsOf(machine),
      nodes: [0],
      reserved: [0],
      options: cpuOptionsOf({}),
      podLevel: this.podLevel,
    };
    this.metrics = new MetricsRegistry();
    return new ExclusiveCpus(
      { policy, file: FILE, retryMs: 10_000 },
      {
        state,
        clock,
        log: silentLog,
        scope: this.scope,
        metrics: this.metrics,
        pods: this.facts,
        decisions: { record: () => 0 },
        machine: () => ({ topology: machine, offline: [] }),
        update: async (id, list) => {
          this.updates += 1;
          if (this.failing) throw new OutsideError("unavailable", "the runtime does not answer");
          if (this.cpusets.has(id)) this.cpusets.set(id, list);
        },
      },
    );
  }

  /** The agent is gone wherever it was, and another one starts. */
  async restart(machine: (typeof MACHINES)["A"] = MACHINES.A): Promise<void> {
    await this.scope[Symbol.asyncDispose]();
    this.scope = this.#newScope();
    this.facts = new CellMap<PodUid, PodFact>(isSameFact);
    this.cpus = this.#make(machine);
    await this.host.files.makeDirectory("/var/lib/kubelet", 0o750);
    await this.settled(this.cpus.start());
    for (const uid of this.pods.keys()) this.observe(uid);
    this.cpus.sourcesSeen((uid) => this.pods.has(uid));
  }

  /** Lets time pass until it is done. */
  async settled<T>(work: Promise<T>): Promise<T> {
    const done = work.then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    let result: Awaited<typeof done> | undefined;
    void done.then((found) => {
      result = found;
    });
    for (let turn = 0; turn < 1_000 && result === undefined; turn += 1) await this.clock.advance(5);
    assert.ok(result, "it does not end");
    if ("error" in result) throw result.error;
    return result.value;
  }

  /** Makes the pod's container with the CPUs that it may use now. */
  run(pod: IdentifiedPod): void {
    const { uid } = pod.metadata;
    this.pods.set(uid, pod);
    const list = this.cpus.cpusetFor(pod, "main");
    this.cpusets.set(`id-${uid}`, list);
    this.observe(uid);
  }

  observe(uid: PodUid): void {
    const pod = this.pods.get(uid);
    assert.ok(pod);
    const containers = this.cpusets.has(`id-${uid}`)
      ? [anAttempt("main", { id: `id-${uid}` })]
      : [];
    const observed = { asOf: at(0), sandboxes: [], containers };
    this.facts.set(uid, { uid, pod, life: "running", busy: false, observed });
  }

  end(pod: IdentifiedPod): void {
    const { uid } = pod.metadata;
    this.pods.delete(uid);
    this.cpusets.delete(`id-${uid}`);
    this.facts.delete(uid);
    this.cpus.observe({ uid, pod, known: false, ended: true, running: new Set() });
  }

  /** What must hold whenever nothing is under way. */
  async check(about: string): Promise<void> {
    await this.clock.advance(SETTLED_MS);
    const text = (await this.settled(this.host.files.readText(FILE, { maxBytes: 1e6 }))) ?? "";
    const decoded = decodeCpuState(text);
    assert.ok(decoded.kind === "read", about);
    const { shared, pods } = decoded.kept.state;
    const owned = [...pods.values()].flatMap((pod) => [...pod.values()]).flat();
    const all = [...shared, ...owned].toSorted((a, b) => a - b);
    assert.deepEqual(all, [0, 1, 2, 3, 4, 5, 6, 7], `${about}: every CPU once`);
    for (const uid of pods.keys()) assert.ok(this.pods.has(uid), `${about}: ${uid} is gone`);
    for (const [uid, pod] of this.pods) {
      const held = pods.get(uid)?.get("main");
      assert.equal(held?.length ?? 0, amountOf(pod), `${about}: CPUs of ${uid}`);
      const list = this.cpusets.get(`id-${uid}`);
      if (list !== undefined) assert.deepEqual(numbers(list), held ?? shared, `${about}: ${uid}`);
    }
  }
}

test(`CPUs in ${HISTORIES} histories: no two owners, file and runtime agree, whenever the agent is killed`, async () => {
  let granted = 0;
  let refused = 0;
  for (let seed = 1; seed <= HISTORIES; seed += 1) {
    const world = new World();
    const random = createSeededRandom(seed);
    await world.restart();
    for (let step = 0; step < STEPS; step += 1) {
      const verdict = await play(world, random, step);
      if (verdict === "granted") granted += 1;
      if (verdict === "refused") refused += 1;
      world.failing = false;
      await world.check(`seed ${seed}, step ${step}, ${verdict}`);
    }
    await world.scope[Symbol.asyncDispose]();
  }
  assert.ok(granted > HISTORIES && refused > 0, `${granted} granted, ${refused} refused`);
});

async function play(world: World, random: Random, step: number): Promise<string> {
  const pick = (count: number) => Math.floor(random.next() * count);
  world.failing = pick(5) === 0;
  const pod = podOf(`pod-${step}`, pick(4));
  switch (pick(5)) {
    case 0: {
      const [first] = [...world.pods.values()].slice(pick(Math.max(1, world.pods.size)));
      if (first) world.end(first);
      return "ended";
    }
    case 1: {
      // Killed while it gives: the pod is known, and asked about again.
      world.pods.set(pod.metadata.uid, pod);
      void world.cpus.grant(pod, new Map()).catch(() => {});
      await world.clock.advance(pick(8));
      await world.restart();
      return await give(world, pod);
    }
    case 2: {
      // It goes while no agent is there to see it.
      const [first] = world.pods.keys();
      if (first !== undefined) {
        world.pods.delete(first);
        world.cpusets.delete(`id-${first}`);
      }
      await world.restart();
      return "restarted";
    }
    default:
      return await give(world, pod);
  }
}

async function give(world: World, pod: IdentifiedPod): Promise<string> {
  const { kind } = await world.settled(world.cpus.grant(pod, new Map()));
  if (kind === "granted") world.run(pod);
  else world.end(pod);
  return kind;
}

test("without CPUs of their own containers are moved once, and never again", async () => {
  const world = new World();
  await world.restart();
  for (let index = 0; index < 20; index += 1) world.run(podOf(`pod-${index}`, 0));
  await world.clock.advance(600_000);
  assert.equal(world.updates, 0);
  await world.restart();
  await world.clock.advance(600_000);
  assert.equal(world.updates, 20);
  assert.match(world.metrics.expose(), /^kubelet_cpu_manager_shared_pool_size_millicores 7000$/m);
});

test("a state that does not fit the machine stops the start and says what to do, one that is damaged is set aside", async () => {
  const world = new World();
  await world.restart();
  await give(world, podOf("owner", 2));
  await world.clock.advance(SETTLED_MS);
  const unplugged = machineOf(7, (id) => ({ core: id % 4, socket: 0, node: 0, cache: 0 }));
  await assert.rejects(world.restart(unplugged), (error) => {
    assert.ok(error instanceof UsageError);
    assert.equal(
      error.message,
      `could not restore state from checkpoint: current set of available CPUs "0-6" doesn't match with CPUs in state "0-7", please drain this node and delete the CPU manager checkpoint file "${FILE}" before restarting Kubelet`,
    );
    return true;
  });
  await world.restart();
  await world.check("plugged in again");
  const text = (await world.settled(world.host.files.readText(FILE, { maxBytes: 1e6 }))) ?? "";
  const damaged = text.slice(0, -30);
  await world.settled(world.host.files.writeAtomic(FILE, damaged, 0o600));
  await world.restart();
  const keptAs = world.host.files.readText(`${FILE}.broken`, { maxBytes: 1e6 });
  assert.equal(await world.settled(keptAs), damaged);
  assert.equal(world.cpusets.get("id-owner"), "0-7");
  assert.equal(await give(world, podOf("next", 2)), "granted");
});

test("pods that run and whose entries were lost get CPUs again as they are seen, or when there are some", async () => {
  const world = new World();
  await world.restart();
  const [five, three] = [podOf("five", 5), podOf("three", 3)];
  await give(world, five);
  await world.settled(world.host.files.remove(FILE));
  await world.restart();
  assert.equal(world.cpusets.get("id-five"), "0-7");
  const running = new Set(["main"]);
  const see = (pod: IdentifiedPod, known: boolean) =>
    world.cpus.observe({ uid: pod.metadata.uid, pod, known, ended: false, running });
  see(five, false);
  await world.clock.advance(SETTLED_MS);
  assert.equal(world.cpusets.get("id-five"), "0-7", "no source names it");
  see(five, true);
  await world.check("seen");
  assert.equal(world.cpusets.get("id-five"), "1-2,4-6");

  world.run(three);
  see(three, true);
  await world.clock.advance(SETTLED_MS);
  assert.equal(world.cpusets.get("id-three"), "0,3,7", "too few are left");
  world.end(five);
  see(three, true);
  await world.check("the other has ended");
});

test("a pod with CPUs as a whole: each container has its part, over a restart of the agent and until its end", async () => {
  const world = new World();
  world.podLevel = "pod";
  await world.restart();
  const own = { cpu: "2", memory: "64Mi" };
  const all = { cpu: "4", memory: "1Gi" };
  const pod: IdentifiedPod = {
    ...podOf("whole", 0),
    spec: {
      containers: [
        aContainer("main"),
        aContainer("db", { resources: { requests: own, limits: own } }),
        aContainer("log"),
      ],
      resources: { requests: all, limits: all },
    },
  };
  const { uid } = pod.metadata;
  const shown = () => ({
    cpusets: ["main", "db", "log", "debug"].map((name) => world.cpus.cpusetFor(pod, name)),
    exclusive: [undefined, "main", "db"].map((name) => world.cpus.isExclusive(uid, name)),
    held: [...world.cpus.held.heldBy(pod).keys()],
    whole: world.cpus.held.heldAsWhole(pod).cpuIds.map(Number),
    owners: world.cpus.report().cpus.filter(({ owner }) => owner?.podUid === uid).length,
  });
  assert.deepEqual(await world.settled(world.cpus.grant(pod, new Map())), { kind: "granted" });
  world.run(pod);
  const given = shown();
  assert.deepEqual(given, {
    cpusets: ["2,6", "1,5", "2,6", "0,3-4,7"],
    exclusive: [false, false, true],
    held: ["db"],
    whole: [1, 2, 5, 6],
    owners: 4,
  });
  assert.deepEqual(countsOf(world), [
    'allocations_total{resource_name="cpu",source="pod"} 3',
    'container_assignments_total{assignment_type="pod_exclusive",resource_name="cpu"} 1',
    'container_assignments_total{assignment_type="pod_shared",resource_name="cpu"} 2',
  ]);
  await world.restart();
  assert.deepEqual(shown(), given);
  assert.deepEqual(await world.settled(world.cpus.grant(pod, new Map())), { kind: "granted" });
  assert.deepEqual(countsOf(world), [], "it has them already");
  assert.deepEqual(shown(), given);
  world.end(pod);
  assert.equal(world.cpus.cpusetFor(pod, "main"), "0-7");
});

test("with managers for pods as a whole, what single containers get is counted too; without, nothing is", async () => {
  const world = new World();
  await world.restart();
  assert.equal(await give(world, podOf("before", 1)), "granted");
  assert.deepEqual(countsOf(world), []);
  world.podLevel = "pod";
  await world.restart();
  assert.equal(await give(world, podOf("one", 2)), "granted");
  assert.equal(await give(world, podOf("shares", 0)), "granted");
  assert.equal(await give(world, podOf("too-many", 9)), "refused");
  const tooMuch = { cpu: "9", memory: "1Gi" };
  const { metadata, spec } = podOf("whole", 0);
  const resources = { requests: tooMuch, limits: tooMuch };
  const whole = { metadata, spec: { containers: spec?.containers ?? [], resources } };
  assert.equal(await give(world, whole), "refused");
  assert.deepEqual(countsOf(world), [
    'allocation_errors_total{resource_name="cpu",source="node"} 1',
    'allocation_errors_total{resource_name="cpu",source="pod"} 1',
    'allocations_total{resource_name="cpu",source="node"} 1',
    'container_assignments_total{assignment_type="node_exclusive",resource_name="cpu"} 1',
  ]);
});

/** Counters of what was given to whom, in short. */
function countsOf({ metrics }: World): readonly string[] {
  const lines = metrics.expose().matchAll(/^kubelet_resource_manager_(.*)$/gm);
  return [...lines].map(([, line = ""]) => line).sort();
}

function podOf(name: string, cpus: number): IdentifiedPod {
  const amounts = { cpu: String(cpus), memory: "1Gi" };
  const resources = cpus === 0 ? {} : { resources: { requests: amounts, limits: amounts } };
  return {
    metadata: { name, namespace: "default", uid: name as PodUid },
    spec: { containers: [aContainer("main", resources)] },
  };
}

function amountOf({ spec }: IdentifiedPod): number {
  return Number(spec?.containers[0]?.resources?.requests?.["cpu"] ?? 0);
}

function numbers(list: string): readonly number[] {
  return list.split(",").flatMap((part) => {
    const [first = 0, last = first] = part.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}
