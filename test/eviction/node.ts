/** A node that runs short of something: a box, an agent with an API of its own, and what both are asked. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Container, CoreEvent, Node, Pod, PodSpec } from "../../src/api/generated/types.ts";
import { type Box, startBox } from "../box/box.ts";
import { standardImages, TEST_IMAGE } from "../box/images.ts";
import { cgroupRoots } from "../box/prerequisites.ts";
import { answerOf } from "../server/http.ts";
import { BoxedAgent, conditionOf } from "../support/agent.ts";
import { askOwnApi, OWN_API } from "../support/own-api.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";

const NAMESPACE = "/api/v1/namespaces/default";
const PODS = `${NAMESPACE}/pods`;
const NODE = "node-1";
const POLL_MS = 250;
const LIMIT_MS = 60_000;
/** How long a condition stays after it was last observed. */
export const TRANSITION_SECONDS = 5;
export const MI = 2 ** 20;

/** A file system of its own for the node, made of a file. */
export interface NodeDisk {
  /** Folders of the node that lie on it. */
  readonly folders: readonly string[];
  readonly mib: number;
  /** How many inodes it has; default one for each 4 KiB. */
  readonly inodes?: number;
}

export interface EvictionNodeOptions {
  /** Lines of KubeletConfiguration. */
  readonly config: string;
  readonly disks?: readonly NodeDisk[];
  /** Flags of the Node that runs the agent. */
  readonly nodeFlags?: readonly string[];
}

/** A pod that runs a shell command in the node's network, which is made faster than one of its own. */
export function podSpec(script: string, more: Partial<PodSpec & Container> = {}): PodSpec {
  const { resources, volumeMounts, ...spec } = more;
  const container: Container = {
    name: "main",
    image: TEST_IMAGE,
    imagePullPolicy: "IfNotPresent",
    command: ["sh", "-c", script],
    ...(resources ? { resources } : {}),
    ...(volumeMounts ? { volumeMounts } : {}),
  };
  return {
    terminationGracePeriodSeconds: 1,
    hostNetwork: true,
    containers: [container],
    ...spec,
  };
}

export class EvictionNode implements AsyncDisposable {
  readonly box: Box;
  readonly #options: EvictionNodeOptions;
  #agent: BoxedAgent;

  private constructor(box: Box, agent: BoxedAgent, options: EvictionNodeOptions) {
    this.box = box;
    this.#agent = agent;
    this.#options = options;
  }

  get agent(): BoxedAgent {
    return this.#agent;
  }

  static async start(options: EvictionNodeOptions): Promise<EvictionNode> {
    const box = await startBox({ storeMib: 1024 });
    try {
      await giveDisks(box, options.disks ?? []);
      const node = new EvictionNode(box, await startAgent(box, options), options);
      await node.until(
        "the node is Ready",
        () => node.condition("Ready").catch(() => undefined),
        (status) => status === "True",
      );
      return node;
    } catch (error) {
      const logs = box.logs();
      await box.dispose();
      throw new Error(`the node did not start\n${logs}`, { cause: error });
    }
  }

  /** Starts the agent again with other lines of configuration; pods keep running. */
  async restart(config: string): Promise<void> {
    await this.#agent.stop();
    this.#agent = await startAgent(this.box, { ...this.#options, config });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.box.dispose();
  }

  /** Creates a pod; resolves with its uid. */
  async create(name: string, spec: PodSpec): Promise<string> {
    const body = { apiVersion: "v1", kind: "Pod", metadata: { name }, spec };
    const { status, body: answer } = await askOwnApi(this.box, {
      method: "POST",
      path: PODS,
      body,
    });
    assert.equal(status, 201, JSON.stringify(answer));
    return (answer as Pod).metadata?.uid ?? "";
  }

  async pods(): Promise<readonly Pod[]> {
    return (await this.#get<{ readonly items: readonly Pod[] }>(PODS)).items;
  }

  /** Names of the pods that were evicted. */
  async evicted(): Promise<readonly string[]> {
    return (await this.pods()).filter(isEvicted).map(nameOf);
  }

  async events(): Promise<readonly CoreEvent[]> {
    const { items } = await this.#get<{ readonly items: readonly CoreEvent[] }>("/api/v1/events");
    return items;
  }

  /** Deletes pods, without names every pod of the API, and waits until nothing of them is left. */
  async remove(...names: readonly string[]): Promise<void> {
    const isMeant = (pod: Pod) => names.length === 0 || names.includes(nameOf(pod));
    for (const { metadata } of (await this.pods()).filter(isMeant))
      await askOwnApi(this.box, {
        method: "DELETE",
        path: `${PODS}/${metadata?.name}`,
        body: { kind: "DeleteOptions", apiVersion: "v1", gracePeriodSeconds: 1 },
      });
    await this.until(
      "the pods are gone",
      () => this.pods(),
      (pods) => !pods.some(isMeant),
    );
  }

  async condition(type: string): Promise<string | undefined> {
    const { status } = await this.#get<Node>(`/api/v1/nodes/${NODE}`);
    return status?.conditions?.find((each) => each.type === type)?.status;
  }

  untilCondition(type: string, wanted: string): Promise<number> {
    return this.until(
      `${type} is ${wanted}`,
      () => this.condition(type),
      (seen) => seen === wanted,
    );
  }

  untilReady(...names: readonly string[]): Promise<number> {
    return this.until(
      `${names.join(", ")} are ready`,
      () => this.pods(),
      (pods) =>
        names.every((name) => {
          const found = pods.find((pod) => nameOf(pod) === name);
          return conditionOf(found?.status, "Ready") === "True";
        }),
    );
  }

  /** The pod with its status after it was evicted. */
  async untilEvicted(name: string): Promise<Pod> {
    let found: Pod | undefined;
    await this.until(
      `${name} is evicted`,
      async () => {
        const pods = await this.pods();
        const others = pods.filter((pod) => isEvicted(pod) && nameOf(pod) !== name);
        const messages = others.map((pod) => `${nameOf(pod)}: ${pod.status?.message}`);
        assert.deepEqual(messages, [], `${name} was to go`);
        found = pods.find((pod) => nameOf(pod) === name);
        return found?.status;
      },
      (status) => status?.reason === "Evicted" && status.phase === "Failed",
    );
    return found ?? {};
  }

  /** Ids and restarts of the containers of the pods that run: the same as long as nobody touched them. */
  async lives(): Promise<Readonly<Record<string, string>>> {
    const running = (await this.pods()).filter(({ status }) => status?.phase === "Running");
    return Object.fromEntries(
      running.map((pod) => [
        nameOf(pod),
        (pod.status?.containerStatuses ?? [])
          .map(({ containerID, restartCount, ready }) => `${containerID} ${restartCount} ${ready}`)
          .join(),
      ]),
    );
  }

  /** What all pods together use of the memory, as the kernel counts it. */
  podsMemory(): number {
    const folder = this.box.cgroupPath("/kubepods", "memory");
    const isV1 = cgroupRoots().version === 1;
    const read = (file: string) => readFileSync(join(folder, file), "utf8");
    const usage = Number(read(isV1 ? "memory.usage_in_bytes" : "memory.current"));
    const inactive = isV1 ? /^total_inactive_file (\d+)/m : /^inactive_file (\d+)/m;
    return usage - Number(inactive.exec(read("memory.stat"))?.[1] ?? 0);
  }

  /** What the agent's own socket answers. */
  async asked(path: string): Promise<string> {
    const socketPath = this.box.path("/run/nodelet/agent.sock");
    return (await answerOf(request({ socketPath, path, agent: false }))).body;
  }

  /** Waits until `test` holds for what `read` gives; resolves with how long that took. */
  async until<T>(
    what: string,
    read: () => T | Promise<T>,
    test: (seen: T) => boolean,
    limitMs = LIMIT_MS * TIMEOUT_FACTOR,
  ): Promise<number> {
    const began = performance.now();
    for (;;) {
      const seen = await read();
      const took = performance.now() - began;
      if (test(seen)) return took;
      if (took > limitMs) assert.fail(await this.#story(what, seen));
      await sleep(POLL_MS);
    }
  }

  /** What a reader of a failure needs. */
  async #story(what: string, seen: unknown): Promise<string> {
    const pods = (await this.pods()).map((pod) => [nameOf(pod), pod.status]);
    const { stdout } = await this.box.exec([
      ...["sh", "-c", "df -h /var/lib/kubelet /var/lib/containerd; df -i /var/lib/kubelet"],
    ]);
    return [
      `not within the time: ${what}: ${JSON.stringify(seen)?.slice(0, 500)}`,
      JSON.stringify(pods).slice(0, 4_000),
      (await this.asked("/nodelet/v1/eviction")).slice(0, 6_000),
      stdout,
      this.agent.log().split("\n").slice(-40).join("\n"),
    ].join("\n");
  }

  async #get<T>(path: string): Promise<T> {
    const { status, body } = await askOwnApi(this.box, { method: "GET", path });
    assert.equal(status, 200, JSON.stringify(body));
    return body as T;
  }
}

/** A pod of a manifest is called as its manifest says. */
export const nameOf = ({ metadata }: Pod): string =>
  (metadata?.name ?? "").replace(new RegExp(`-${NODE}$`), "");

export const isEvicted = ({ status }: Pod): boolean =>
  status?.phase === "Failed" && status.reason === "Evicted";

function startAgent(
  box: Box,
  { config, nodeFlags = [] }: EvictionNodeOptions,
): Promise<BoxedAgent> {
  return BoxedAgent.start(box, {
    config: `evictionPressureTransitionPeriod: ${TRANSITION_SECONDS}s\n${config}`,
    flags: [`--hostname-override=${NODE}`],
    env: OWN_API.env("/var/lib/nodelet/api"),
    nodeFlags,
  });
}

/** Puts folders of the node on file systems of their own, before anything runs on it. */
async function giveDisks(box: Box, disks: readonly NodeDisk[]): Promise<void> {
  if (disks.length === 0) return;
  await box.killContainerd("SIGTERM");
  for (const [i, { mib, inodes, folders }] of disks.entries()) {
    const file = `${box.folder}/disk-${i}.img`;
    const at = `/run/disk-${i}`;
    const count = inodes === undefined ? ["-i", "4096"] : ["-N", `${inodes}`];
    await box.run(["truncate", "-s", `${mib}M`, file]);
    await box.run(["mkfs.ext4", "-q", "-m", "0", ...count, file]);
    await box.run(["mkdir", "-p", at]);
    await box.run(["mount", "-o", "loop", file, at]);
    for (const [n, folder] of folders.entries())
      await box.run([
        "sh",
        "-c",
        `mkdir -p ${at}/${n} ${folder}; mount --bind ${at}/${n} ${folder}`,
      ]);
  }
  await box.startContainerd();
  await box.importImages(standardImages());
}
