// On a machine with two NUMA nodes of two cores with two threads each: CPUs, memory and devices of a container are on one node,
// whole cores, as the kernel says it. Run in a guest, by `numa.soak.ts`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Box, withBox } from "../../box/box.ts";
import { BOX, DeviceNode, RESOURCE } from "../../devices/boxed-plugin.ts";
import { type Manifest, manifest } from "../../support/agent.ts";
import { numbersOf } from "../../support/cpu-list.ts";
import { insideOf, staying } from "../../volumes/world.ts";
import { cpuState } from "../cpu-owners.ts";

const SETTINGS = `
cpuManagerPolicy: static
cpuManagerPolicyOptions: {full-pcpus-only: "true"}
reservedSystemCPUs: "0-1"
memoryManagerPolicy: Static
topologyManagerPolicy: single-numa-node
kubeReserved: {memory: 64Mi}
evictionHard: {memory.available: "0%"}
reservedMemory: [{numaNode: 0, limits: {memory: 64Mi}}]
`;

/** Threads of one core, by each of them. */
const coreOf = (cpu: number) => [cpu - (cpu % 2), cpu - (cpu % 2) + 1];
/** CPUs of the second node, where the devices are. */
const SECOND = [4, 5, 6, 7];

/** The guest's kernel has no packet filter for the network of pods. */
const SPEC = { terminationGracePeriodSeconds: 0, hostNetwork: true, dnsPolicy: "Default" };

function guaranteed(name: string, more: Readonly<Record<string, string>>): Manifest {
  const amounts = { memory: "64Mi", ...more };
  return manifest(name, {
    ...SPEC,
    containers: [staying("main", { resources: { requests: amounts, limits: amounts } })],
  });
}

/** What a process in a container reads of itself. */
interface Placed {
  readonly cpus: readonly number[];
  readonly mems: string;
  /** How many pages of its own it has on each node, by `N0`, `N1`. */
  readonly pages: ReadonlyMap<string, number>;
}

/** What a process fills to see where its memory is. */
const FILLED_BYTES = 4 * 1024 * 1024;
const FILLED_PAGES = FILLED_BYTES / 4096;

/** What the process has filled is on this node; a page or two may stem from before it was in its group. */
function assertPagesOn(node: string, pages: Placed["pages"]): void {
  const text = JSON.stringify([...pages]);
  assert.ok((pages.get(node) ?? 0) >= FILLED_PAGES, text);
  for (const [other, count] of pages) assert.ok(other === node || count < FILLED_PAGES / 50, text);
}

class NumaNode {
  readonly #devices: DeviceNode;
  readonly box: Box;

  constructor(devices: DeviceNode) {
    this.#devices = devices;
    this.box = devices.box;
  }

  async start(name: string, pod: Manifest): Promise<void> {
    this.#devices.agent.apply(`${name}.yaml`, pod);
    await this.#devices.agent.until(`${name} is ready`, () => {
      const status = this.#statusOf(name);
      return (
        status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ===
        true
      );
    });
  }

  /** Reason and message with which the node refuses the pod. */
  async refused(name: string, pod: Manifest): Promise<string> {
    this.#devices.agent.apply(`${name}.yaml`, pod);
    await this.#devices.agent.until(
      `${name} is refused`,
      () => this.#statusOf(name)?.phase === "Failed",
    );
    const { reason, message } = this.#statusOf(name) ?? {};
    return `${reason}: ${message}`;
  }

  async placed(name: string): Promise<Placed> {
    const inside = insideOf(this.box, async () => this.#statusOf(name));
    const text = await inside(
      `grep -E '^(Cpus|Mems)_allowed_list' /proc/self/status
      filled=$(head -c ${FILLED_BYTES} /dev/zero | tr '\\0' x)
      grep 'anon=' /proc/$$/numa_maps`,
    );
    const listed = (what: string) =>
      new RegExp(`^${what}_allowed_list:\\s+(\\S+)$`, "m").exec(text)?.[1] ?? "";
    const pages = new Map<string, number>();
    for (const [, node = "", count] of text.matchAll(/ (N\d)=(\d+)/g))
      pages.set(node, (pages.get(node) ?? 0) + Number(count));
    return { cpus: numbersOf(listed("Cpus")), mems: listed("Mems"), pages };
  }

  #statusOf(name: string) {
    return [...this.#devices.agent.statuses()]
      .filter(([uid]) => uid === name)
      .map(([, status]) => status)[0];
  }
}

const named = (name: string, pod: Manifest): Manifest => ({
  ...pod,
  metadata: { ...pod.metadata, uid: name },
});

test("CPUs, memory and device of a container are on one node; what does not fit there is refused", () =>
  withBox(BOX, async (box) => {
    const devices = await DeviceNode.start(
      box,
      "node",
      { devices: 4, numaNode: 1 },
      { config: SETTINGS },
    );
    const node = new NumaNode(devices);
    const near = named("near", guaranteed("near", { cpu: "2", [RESOURCE]: "1" }));
    await node.start("near", near);
    const { cpus, mems, pages } = await node.placed("near");
    assert.equal(cpus.length, 2);
    assert.ok(
      cpus.every((cpu) => SECOND.includes(cpu)),
      `${cpus}`,
    );
    assert.deepEqual(cpus, coreOf(cpus[0] ?? 0), "a whole core");
    assert.equal(mems, "1");
    assertPagesOn("N1", pages);

    const odd = named("odd", guaranteed("odd", { cpu: "1" }));
    assert.equal(
      await node.refused("odd", odd),
      "SMTAlignmentError: Pod was rejected: SMT Alignment Error: requested 1 cpus not multiple cpus per core = 2",
    );
    // Four CPUs beside a device would be on two nodes.
    const wide = named("wide", guaranteed("wide", { cpu: "4", [RESOURCE]: "1" }));
    assert.equal(
      await node.refused("wide", wide),
      "TopologyAffinityError: Pod was rejected: Resources cannot be allocated with Topology locality",
    );

    await node.start("plain", named("plain", guaranteed("plain", { cpu: "2" })));
    const plain = await node.placed("plain");
    assert.deepEqual(plain.cpus, coreOf(plain.cpus[0] ?? 0));
    const own = SECOND.includes(plain.cpus[0] ?? 0) ? "1" : "0";
    assert.equal(plain.mems, own);
    assertPagesOn(`N${own}`, plain.pages);

    await node.start(
      "others",
      named("others", manifest("others", { ...SPEC, containers: [staying()] })),
    );
    const taken = new Set([...cpus, ...plain.cpus]);
    const rest = [0, 1, 2, 3, ...SECOND].filter((cpu) => !taken.has(cpu));
    assert.deepEqual((await node.placed("others")).cpus, rest);
    const map = await devices.agent.command("get", "cpus");
    console.log(map);

    const before = cpuState(box);
    await devices.agent.kill();
    await devices.agent.start();
    await devices.offered();
    assert.deepEqual(cpuState(box), before);
    assert.deepEqual((await node.placed("near")).cpus, cpus);
  }));
