// A container that is resized in place has CPUs for itself by then, or shares again: with kubectl, as the kernel shows it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { ContainerStatus, Pod } from "../../src/api/generated/types.ts";
import { bareMachine, type NodeBox } from "../cli/node-box.ts";
import { Kubectl, PROGRAMS, programOf } from "../localapi/kubectl.ts";
import { numbersOf } from "../support/cpu-list.ts";
import { STAY } from "../support/stay.ts";
import { cpuState } from "./cpu-owners.ts";

const KUBECTL = PROGRAMS.map(programOf).at(-1);
const skip = KUBECTL === undefined ? "needs kubectl from Debian" : false;
const CONFIG = "/etc/nodelet/config.yaml";
const STATE_FILE = "/var/lib/nodelet/kubelet/cpu_manager_state";
const UP = ["up", "--detach", "--until-ready"];
const STATIC = "cpuManagerPolicy: static\nkubeReserved: {cpu: 500m}\n";
const GATE = "featureGates:\n  InPlacePodVerticalScalingExclusiveCPUs: true";
const ALLOWED =
  "while read -r a b; do case $a in Cpus_allowed_list:) echo $b;; esac; done < /proc/self/status";

const DEADLINE_MS = 60_000;

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!(await holds())) {
    if (performance.now() > deadline) assert.fail(`not in time: ${what}`);
    await sleep(200);
  }
}

function podOf(name: string, cpu: string): string {
  const amounts = { cpu, memory: "64Mi" };
  const container = {
    name: "main",
    image: "localhost/nodelet/hello:1",
    imagePullPolicy: "Never",
    command: ["sh", "-c", STAY],
    resources: { requests: amounts, limits: amounts },
  };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { terminationGracePeriodSeconds: 0, dnsPolicy: "Default", containers: [container] },
  });
}

/** A node with the static policy, and what is asked of it. */
class CpuNode {
  readonly #node: NodeBox;
  readonly #kubectl: Kubectl;

  constructor(node: NodeBox) {
    this.#node = node;
    this.#kubectl = new Kubectl(node, KUBECTL ?? "");
  }

  async restart(changed: (config: string) => string): Promise<void> {
    const { box } = this.#node;
    await this.#node.run("stop");
    box.write(CONFIG, changed(readFileSync(box.path(CONFIG), "utf8")));
    await this.#node.run(...UP);
  }

  async make(name: string, cpu: string): Promise<void> {
    await this.#kubectl.run(["apply", "-f", "-"], { stdin: podOf(name, cpu) });
    await this.#kubectl.run(["wait", "--for=condition=Ready", `pod/${name}`, "--timeout=50s"]);
  }

  resize(name: string, cpu: string): Promise<string> {
    const amounts = { cpu, memory: "64Mi" };
    const resources = { requests: amounts, limits: amounts };
    const patch = JSON.stringify({ spec: { containers: [{ name: "main", resources }] } });
    return this.#kubectl.run(["patch", "pod", name, "--subresource", "resize", "--patch", patch]);
  }

  async pod(name: string): Promise<Pod> {
    return JSON.parse(await this.#kubectl.run(["get", "pod", name, "-o", "json"])) as Pod;
  }

  async status(name: string): Promise<ContainerStatus> {
    const [status] = (await this.pod(name)).status?.containerStatuses ?? [];
    if (!status) assert.fail(`no status of ${name}`);
    return status;
  }

  /** CPUs that the kernel lets a process in the pod use. */
  async cpusOf(name: string): Promise<readonly number[]> {
    const list = await this.#kubectl.run(["exec", name, "--", "sh", "-c", ALLOWED]);
    return numbersOf(list.trim());
  }

  ownedBy({ metadata }: Pod): Readonly<Record<string, string>> | undefined {
    return cpuState(this.#node.box, STATE_FILE).entries?.[metadata?.uid ?? ""];
  }
}

test("with the gate, CPUs follow a resize of a Guaranteed pod; without it, it is infeasible", {
  skip,
}, async () => {
  await using machine = await bareMachine();
  await machine.run(...UP, "--demo");
  const node = new CpuNode(machine);
  await node.restart((config) => `${config}${STATIC}`);
  await node.make("sized", "500m");
  await node.make("other", "100m");
  const all = await node.cpusOf("sized");
  await node.resize("sized", "1");
  const isRefused = async () => {
    const { conditions = [] } = (await node.pod("sized")).status ?? {};
    const pending = conditions.find(({ type }) => type === "PodResizePending");
    return `${pending?.reason}: ${pending?.message}`;
  };
  const text =
    'Infeasible: Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"';
  await until("it is infeasible", async () => (await isRefused()) === text);

  await node.restart((config) => config.replace("featureGates:", GATE));
  await until("it has a CPU", async () => (await node.cpusOf("sized")).length === 1);
  const [own] = await node.cpusOf("sized");
  // `stop` has ended the containers with the runtime: counted from here.
  const { restartCount } = await node.status("sized");
  assert.deepEqual(node.ownedBy(await node.pod("sized")), { main: `${own}` });
  const rest = all.filter((cpu) => cpu !== own);
  assert.deepEqual(await node.cpusOf("other"), rest);

  await node.resize("sized", "500m");
  await until("it shares", async () => (await node.cpusOf("sized")).length === all.length);
  await until("so does the other", async () => (await node.cpusOf("other")).length === all.length);
  assert.equal(node.ownedBy(await node.pod("sized")), undefined);
  assert.equal((await node.status("sized")).restartCount, restartCount);
});
