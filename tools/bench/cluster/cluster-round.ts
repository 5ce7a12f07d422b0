import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connectCri } from "../../../src/outside/cri/connect-cri.ts";
import { type Box, startBox } from "../../../test/box/box.ts";
import { TEST_IMAGE } from "../../../test/box/images.ts";
import { type ApiServer, startApiServer } from "../../../test/kube/apiserver.ts";
import { FloorRunner } from "../floor.ts";
import { askKubelet, type Kubelet, type KubeletProcess } from "../kubelet.ts";
import { benchPod } from "../pods.ts";
import { processFigures } from "../process-figures.ts";
import {
  lastLines,
  type RoundOptions,
  type RoundResult,
  STORE_MIB,
  TAIL_MS,
  TIMEOUT_MS,
} from "../round.ts";
import { watchAgent } from "../watch-agent.ts";
import { ClusterDriver } from "./cluster-driver.ts";
import { clusterPod, NAMESPACE, NODE, startClusterNode } from "./cluster-node.ts";
import type { ClusterRound, PodGroup, RequestCounts } from "./cluster-result.ts";
import type { DriverOrder } from "./drive-pods.ts";
import { countRequests } from "./requests.ts";

const NODE_USER = `system:node:${NODE}`;
/** What the API is asked to give pods to end. */
const GRACE_SECONDS = 1;
const AUDIT_LOG = "audit.log";

/** Measures one kubelet as a node of a cluster of its own. */
export async function measureClusterRound(order: RoundOptions): Promise<RoundResult<ClusterRound>> {
  const { label, path, options, say, signal } = order;
  await using box = await startBox({ containerd: options.containerd, storeMib: STORE_MIB });
  const cri = connectCri({ runtimeEndpoint: `unix://${box.criSocket}`, timeoutMs: TIMEOUT_MS });
  try {
    const { runtimeName, runtimeVersion } = await cri.runtime.version(signal);
    const kubelet = await askKubelet(box, label, path);
    say("the floor: bare calls to the runtime");
    const { singles } = options;
    const floor = await new FloorRunner(box, cri, signal).measure({ singles, pods: 1 });
    await using server = await startApiServer({ box, flags: auditFlags });
    await server.prepareNamespace(NAMESPACE);
    await using driver = new ClusterDriver(box, server, NAMESPACE);
    const measured = await new ClusterRun({ box, server, driver }, order).measure(kubelet);
    const runtime = `${runtimeName} ${runtimeVersion}`;
    return { kubelet, runtime, round: { floorMs: floor.single.runningMs, ...measured } };
  } catch (error) {
    throw new Error(`${label}: the round failed\n${lastLines(box, label)}`, { cause: error });
  } finally {
    cri.close();
  }
}

/** Every request of the node's user becomes one or two lines of a file. */
function auditFlags(folder: string): readonly string[] {
  const policy = {
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    omitStages: ["RequestReceived"],
    rules: [{ level: "Metadata", users: [NODE_USER] }, { level: "None" }],
  };
  const file = join(folder, "audit-policy.json");
  writeFileSync(file, JSON.stringify(policy));
  return [`--audit-policy-file=${file}`, `--audit-log-path=${join(folder, AUDIT_LOG)}`];
}

interface Parts {
  readonly box: Box;
  readonly server: ApiServer;
  readonly driver: ClusterDriver;
}

class ClusterRun {
  readonly #parts: Parts;
  readonly #order: RoundOptions;

  constructor(parts: Parts, order: RoundOptions) {
    this.#parts = parts;
    this.#order = order;
  }

  async measure(kubelet: Kubelet): Promise<Omit<ClusterRound, "floorMs">> {
    const { options, say, signal } = this.#order;
    const { box, server } = this.#parts;
    const { cpuProfile } = this.#order.options;
    const agent = await startClusterNode(box, server, kubelet, { cpuProfile });
    const [readyAt = Number.NaN] = await this.#seen("node-ready", [NODE]);
    say(`no pods, ${options.idleSeconds} s`);
    await this.#settle();
    const from = this.#auditBytes();
    const window = { pods: 0, seconds: options.idleSeconds };
    const idle = await watchAgent(agent.pid, window, signal);
    const idleRequests = this.#requestsSince(from);
    say(`${options.singles} pods one at a time`);
    await this.#warmControlPlane();
    const first = await this.#life(agent, { name: "first", count: 1 });
    const singles: PodGroup[] = [];
    for (let i = 1; i <= options.singles; i++)
      singles.push(await this.#life(agent, { name: `single-${i}`, count: 1 }));
    const seconds = options.idleSeconds / 2;
    say(`${options.pods} pods at once, two probes a second each`);
    const many = { count: options.pods, restSeconds: seconds };
    const probed = await this.#life(agent, { ...many, name: "probed", probes: true });
    say(`${options.pods} pods with probes at once, for the second time`);
    const again = await this.#life(agent, { count: options.pods, name: "again", probes: true });
    say(`${options.pods} pods at once, no probes`);
    const plain = await this.#life(agent, { ...many, name: "plain" });
    agent.assertRunning();
    await agent.stop();
    return {
      startUpMs: readyAt - agent.startedAtMs,
      steady: [idle],
      idleRequests,
      first,
      singles,
      probed,
      again,
      plain,
    };
  }

  /**
   * Creates and deletes a pod of no node. The first pod of a control plane takes it some 20 ms longer than those after it,
   * which would count as the agent's.
   */
  async #warmControlPlane(): Promise<void> {
    const name = "unbound";
    const pod = benchPod(name, TEST_IMAGE, { probes: false });
    this.#parts.driver.order({ kind: "create", pods: [pod] });
    // Orders are carried out side by side: a deletion could overtake the creation.
    await this.#seen("added", [name]);
    await this.#settle(0.1);
    this.#parts.driver.order({ kind: "delete", names: [name], graceSeconds: 0 });
    await this.#seen("gone", [name]);
  }

  /** Creates pods, waits until all are ready, leaves them alone, deletes them and waits until all are gone. */
  async #life(
    agent: KubeletProcess,
    life: {
      readonly name: string;
      readonly count: number;
      readonly probes?: boolean;
      readonly restSeconds?: number;
    },
  ): Promise<PodGroup> {
    const { count, probes = false, restSeconds } = life;
    await this.#settle(count === 1 ? 0.1 : 1);
    const names = Array.from({ length: count }, (_, i) => `${life.name}-${i}`);
    const pods = names.map((name) => clusterPod(name, { probes }));
    const from = this.#auditBytes();
    const started = await this.#step(agent, names, { kind: "create", pods });
    let steady: PodGroup["steady"];
    if (restSeconds !== undefined) {
      await this.#settle();
      const window = { pods: count, seconds: restSeconds };
      steady = await watchAgent(agent.pid, window, this.#order.signal);
    }
    const order = { kind: "delete", names, graceSeconds: GRACE_SECONDS } as const;
    const stopped = await this.#step(agent, names, order);
    return {
      readyMs: started.ms,
      goneMs: stopped.ms,
      startCpuMs: started.cpuMs,
      stopCpuMs: stopped.cpuMs,
      requests: this.#requestsSince(from),
      steady,
    };
  }

  /** Has the order done for all pods; how long it took for each, and what CPU time the agent needed for it. */
  async #step(
    { pid }: KubeletProcess,
    names: readonly string[],
    order: DriverOrder,
  ): Promise<{ readonly ms: readonly number[]; readonly cpuMs: number }> {
    const before = processFigures(pid).cpuMs;
    this.#parts.driver.order(order);
    const isCreation = order.kind === "create";
    const from = await this.#seen(isCreation ? "created" : "deleted", names);
    const to = await this.#seen(isCreation ? "ready" : "gone", names);
    await sleep(TAIL_MS, undefined, { signal: this.#order.signal });
    const cpuMs = processFigures(pid).cpuMs - before;
    return { ms: to.map((at, i) => at - (from[i] ?? Number.NaN)), cpuMs };
  }

  #seen(kind: string, names: readonly string[]): Promise<readonly number[]> {
    const keys = names.map((name) => `${kind} ${name}`);
    return this.#parts.driver.sightings.all(keys, TIMEOUT_MS, this.#order.signal);
  }

  #auditBytes(): number {
    return statSync(this.#auditLog).size;
  }

  #requestsSince(bytes: number): RequestCounts {
    const log = readFileSync(this.#auditLog).subarray(bytes).toString("utf8");
    return countRequests(log, NODE_USER);
  }

  get #auditLog(): string {
    return join(this.#parts.server.folder, AUDIT_LOG);
  }

  async #settle(share = 1): Promise<void> {
    const { options, signal } = this.#order;
    await sleep(options.settleSeconds * share * 1000, undefined, { signal });
  }
}
