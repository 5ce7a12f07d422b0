// What one more pod costs on a node that has few or many already, in operations: of a change, never of all pods.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeletConfig } from "../../src/config/kubelet-config.ts";
import { conditionOf, podOf } from "./cluster-world.ts";
import type { FakeApiServer } from "./fake-apiserver.ts";
import { World } from "./world.ts";

/** Operations by name, e.g. `cri.listContainers`, `file.append`, `api.PATCH`. */
type Operations = Readonly<Record<string, number>>;

/** Calls `onCall` with the name of each method of `target` that is called. */
function counted<T extends object>(target: T, onCall: (name: string) => void): T {
  return new Proxy(target, {
    get: (_, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: readonly unknown[]) => {
        onCall(String(name));
        return Reflect.apply(value as () => unknown, target, args);
      };
    },
  });
}

class CountedNode {
  readonly world: World;
  readonly #api: FakeApiServer;
  readonly #counts = new Map<string, number>();

  constructor(config: Partial<KubeletConfig> = {}) {
    this.world = new World(7, {}, { cluster: true, config: { maxPods: 1_000, ...config } });
    assert.ok(this.world.api);
    this.#api = this.world.api;
    const count = (name: string) => this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    this.world.around = (cri) => ({
      ...cri,
      runtime: counted(cri.runtime, (name) => count(`cri.${name}`)),
      images: counted(cri.images, (name) => count(`cri.${name}`)),
    });
    const { files } = this.world.host;
    Object.assign(
      files,
      Object.fromEntries(
        (["readText", "writeAtomic", "append", "remove", "facts"] as const).map((name) => {
          const method = files[name].bind(files) as (...args: readonly unknown[]) => unknown;
          return [
            name,
            (...args: readonly unknown[]) => {
              count(`file.${name}`);
              return method(...args);
            },
          ];
        }),
      ),
    );
    const answer = this.#api.request.bind(this.#api);
    this.#api.request = (request, signal) => {
      count(`api.${request.method}`);
      return answer(request, signal);
    };
  }

  /** Makes pods and waits until they are Ready. */
  async add(prefix: string, pods: number): Promise<void> {
    const names = Array.from({ length: pods }, (_, i) => `${prefix}-${i}`);
    for (const name of names)
      this.#api.objects.create(
        { collection: "pods", namespace: "default" },
        podOf(name, { kind: "sleep" }, "Always"),
      );
    const isReady = (name: string) =>
      conditionOf(
        this.#api.objects.find({ collection: "pods", namespace: "default", name }),
        "Ready",
      ) === "True";
    for (let i = 0; i < 60 && !names.every(isReady); i += 1) await this.world.advance(5_000);
    assert.ok(names.every(isReady), "all pods are Ready");
  }

  async delete(name: string): Promise<void> {
    const place = { collection: "pods", namespace: "default", name };
    this.#api.objects.delete(place, { gracePeriodSeconds: 1 });
    for (let i = 0; i < 12 && this.#api.objects.find(place); i += 1)
      await this.world.advance(5_000);
    assert.equal(this.#api.objects.find(place), undefined);
  }

  /** What the agent does meanwhile. */
  async during(work: () => Promise<void>): Promise<Operations> {
    this.#counts.clear();
    await work();
    return Object.fromEntries([...this.#counts].toSorted());
  }
}

/** What checks the log of each container, every ten seconds (containerLogMonitorInterval). */
const POLLED = ["cri.reopenLog", "file.facts"];
const SIZES = (process.env["COST_PODS"] ?? "10,60").split(",").map(Number);
const WINDOW_MS = 60_000;

const SYSTEM = "/sys/devices/system";
const TWO_NODES: Readonly<Record<string, string>> = {
  [`${SYSTEM}/cpu/online`]: "0-3",
  [`${SYSTEM}/node/online`]: "0-1",
  [`${SYSTEM}/node/node0/cpulist`]: "0-1",
  [`${SYSTEM}/node/node1/cpulist`]: "2-3",
  [`${SYSTEM}/node/node0/meminfo`]: `Node 0 MemTotal: ${4 * 2 ** 20} kB`,
  [`${SYSTEM}/node/node1/meminfo`]: `Node 1 MemTotal: ${4 * 2 ** 20} kB`,
};

type Costs = Readonly<Record<"rest" | "start" | "end", Operations>>;

async function costsWith(pods: number, config: Partial<KubeletConfig> = {}): Promise<Costs> {
  const node = new CountedNode(config);
  for (const [path, text] of Object.entries(TWO_NODES)) node.world.host.kernelFiles.set(path, text);
  node.world.startAgent();
  await node.world.advance(5_000);
  await node.add("present", pods);
  await node.world.advance(WINDOW_MS);
  const rest = await node.during(() => node.world.advance(WINDOW_MS));
  const start = await node.during(() => node.add("new", 1));
  const end = await node.during(() => node.delete("new-0"));
  await node.world.stopAgent();
  const isKept = node.world.host.files.paths.includes("/var/lib/kubelet/cpu_manager_state");
  assert.equal(isKept, config.cpuManagerPolicy === "static");
  return { rest, start, end };
}

const without = (operations: Operations, left: readonly string[]): Operations =>
  Object.fromEntries(Object.entries(operations).filter(([name]) => !left.includes(name)));

test("a pod's start and end, and a minute of rest, cost as many operations however many pods there are", async (t) => {
  const costs: Costs[] = [];
  for (const size of SIZES) {
    const found = await costsWith(size);
    t.diagnostic(`${size} pods: ${JSON.stringify(found)}`);
    costs.push(found);
  }
  const [few, ...others] = costs;
  assert.ok(few);
  for (const [i, many] of others.entries()) {
    assert.deepEqual(without(many.rest, POLLED), without(few.rest, POLLED));
    const [least = 1, most = 1] = [SIZES[0], SIZES[i + 1]];
    for (const name of POLLED) {
      const each = (rest: Operations, pods: number) => Math.round((rest[name] ?? 0) / pods);
      assert.ok(each(many.rest, most) <= each(few.rest, least), `${name} of each pod`);
    }
    for (const phase of ["start", "end"] as const) {
      // A change of the status may or may not be joined with the next one.
      for (const [name, count] of Object.entries(without(many[phase], POLLED)))
        assert.ok(count <= (few[phase][name] ?? 0) + 1, `${phase}: ${count} × ${name}`);
    }
  }
});

test("CPU, memory and topology manager cost no operation more for pods that have nothing alone", async () => {
  const managed = await costsWith(20, {
    cpuManagerPolicy: "static",
    memoryManagerPolicy: "Static",
    topologyManagerPolicy: "single-numa-node",
    kubeReserved: { cpu: "500m" },
    reservedMemory: [{ numaNode: 0, limits: { memory: "100Mi" } }],
  });
  assert.deepEqual(managed, await costsWith(20));
});
