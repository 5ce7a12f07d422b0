// A real node on which stories of `nodelet why` are played side by side, each in a namespace of its own.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { PersistentVolumeClaim, Pod, PodList } from "../../src/api/generated/types.ts";
import { AgentClient } from "../../src/client/agent-client.ts";
import { type PodHistory, requestPodHistory } from "../../src/client/pod-history.ts";
import { type Box, startBox } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { withoutBusyPrograms } from "../sim/programs.ts";
import { GREEDY_FILE, POD, type Story } from "../sim/stories/story.ts";
import type { StoryNode } from "../sim/stories/story-node.ts";
import { BoxedAgent } from "../support/agent.ts";
import { askOwnApi, OWN_API } from "../support/own-api.ts";

const SOCKET = "/run/nodelet/agent.sock";
const API = "/var/lib/kubelet/api";
const WAIT_MS = 120_000;
const POLL_MS = 700;
const MAX_DECISIONS = 500;
const PATCH = "application/strategic-merge-patch+json";
/** One of the stories restarts all containers of a pod. */
const CONFIG = "featureGates: {RestartAllContainersOnContainerExits: true}";

/** The machine of all stories. */
export class StoriesNode implements AsyncDisposable {
  readonly box: Box;
  readonly agent: BoxedAgent;
  readonly name: string;
  readonly client: AgentClient;

  private constructor(box: Box, agent: BoxedAgent, name: string) {
    this.box = box;
    this.agent = agent;
    this.name = name;
    this.client = new AgentClient(box.path(SOCKET));
  }

  static async start(): Promise<StoriesNode> {
    const box = await startBox({});
    try {
      const agent = await BoxedAgent.start(box, { env: OWN_API.env(API), config: CONFIG });
      let name = "";
      await agent.until("the node is registered", async () => {
        const reply = await askOwnApi(box, { method: "GET", path: "/api/v1/nodes" }).catch(
          () => undefined,
        );
        const { items = [] } = (reply?.body ?? {}) as { items?: { metadata: { name: string } }[] };
        name = items[0]?.metadata.name ?? "";
        return name !== "";
      });
      return new StoriesNode(box, agent, name);
    } catch (error) {
      await box.dispose();
      throw error;
    }
  }

  /** A request that has to succeed, in its order of arrival. */
  async ask(method: string, path: string, body: object, contentType?: string): Promise<void> {
    const request = { method, path, body, ...(contentType ? { contentType } : {}) };
    const reply = await askOwnApi(this.box, request);
    assert.ok(reply.status < 300, `${method} ${path}: ${JSON.stringify(reply.body)}`);
  }

  async pods(namespace: string): Promise<readonly Pod[]> {
    const { items } = await this.client.json<PodList>("/nodelet/v1/pods");
    return items.filter(({ metadata }) => metadata?.namespace === namespace);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.box.dispose();
  }
}

type Acts = Omit<StoryNode, "world" | "api" | "pod" | "refusals" | "why" | "checkTruth">;

/** The acts of one story, carried out on the real node one after the other. */
export class RealStory implements Omit<Acts, "patchNode" | "container" | "put" | "killSandbox"> {
  readonly #node: StoriesNode;
  readonly #story: Story;
  readonly #namespace: string;
  #done: Promise<void> = Promise.resolve();
  /** Containers that were killed. */
  readonly #killed = new Set<string>();

  constructor(node: StoriesNode, story: Story, namespace: string) {
    this.#node = node;
    this.#story = story;
    this.#namespace = namespace;
  }

  /** Plays the story to its end. */
  async play(): Promise<void> {
    const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: this.#namespace } };
    await this.#node.ask("POST", "/api/v1/namespaces", body);
    if (this.#story.play) await this.#story.play(this as unknown as StoryNode);
    else this.create();
    await this.#done;
  }

  /** What the command knows of the pod, with the namespace of the page. */
  async history(): Promise<PodHistory> {
    const wanted = { namespace: this.#namespace, name: POD };
    const found = await requestPodHistory(wanted, this.#node.client, MAX_DECISIONS);
    // Whether the kernel's log can be read in a box is another thing on every machine.
    const warnings = found.warnings.filter(({ reason }) => reason !== "OOMKilling");
    return { ...found, warnings };
  }

  create(pod: Pod | undefined = this.#story.pod): void {
    assert.ok(pod);
    const { nodeName, ...spec } = pod.spec ?? { containers: [] };
    const assigned = nodeName === "sim" ? this.#node.name : nodeName;
    this.put("pods", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: pod.metadata?.name },
      spec: { ...spec, nodeName: assigned, automountServiceAccountToken: false },
    });
  }

  put(collection: string, object: Readonly<Record<string, unknown>>): never {
    this.#ask("POST", collection, object);
    return undefined as never;
  }

  async bindVolume(
    volume: Parameters<StoryNode["bindVolume"]>[0],
    claim: Parameters<StoryNode["bindVolume"]>[1],
  ): Promise<void> {
    const { name } = claim.metadata;
    const claimRef = { namespace: this.#namespace, name };
    const spec = { ...volume.spec, claimRef, storageClassName: "" };
    const object = { apiVersion: "v1", kind: "PersistentVolume", ...volume, spec };
    await this.#node.ask("POST", "/api/v1/persistentvolumes", object);
    this.put("persistentvolumeclaims", { ...claim, status: undefined });
    await this.#done;
    const path = `/api/v1/namespaces/${this.#namespace}/persistentvolumeclaims/${name}`;
    await this.#node.agent.until("the claim is bound", async () => {
      const { body } = await askOwnApi(this.#node.box, { method: "GET", path });
      return (body as PersistentVolumeClaim).status?.phase === "Bound";
    });
  }

  disrupt(reason: string): void {
    const condition = { type: "DisruptionTarget", status: "True", reason, message: "drained" };
    this.patch({ status: { conditions: [condition] } }, true);
    this.delete();
  }

  evict(): void {
    this.#then(() => this.#untilRunning());
    const metadata = { name: POD, namespace: this.#namespace };
    const body = { apiVersion: "policy/v1", kind: "Eviction", metadata };
    this.#ask("POST", `pods/${POD}/eviction`, body);
  }

  patch(body: unknown, status = false): void {
    this.#then(() => this.#untilRunning());
    this.#ask("PATCH", `pods/${POD}${status ? "/status" : ""}`, body as object, PATCH);
  }

  delete(name = POD, options: object = {}): void {
    this.#then(() => this.#untilRunning());
    this.#ask("DELETE", `pods/${name}`, options);
  }

  resize(resources: object): void {
    this.#then(() => this.#untilRunning());
    const body = { spec: { containers: [{ name: "main", resources }] } };
    this.#ask("PATCH", `pods/${POD}/resize`, body, PATCH);
  }

  changeImage(image: string): void {
    this.#then(async () => {
      await this.#untilRunning();
      await this.#node.box.ctr("images", "tag", TEST_IMAGE, image);
      await this.#node.box.ctr("images", "label", image, "io.cri-containerd.image=managed");
    });
    this.#ask("PATCH", `pods/${POD}`, { spec: { containers: [{ name: "main", image }] } }, PATCH);
  }

  /** The node's own scheduler reports it. */
  reportUnschedulable(): void {}

  async killProcess(): Promise<void> {
    await this.#kill((pid) => `kill -9 ${pid}`);
  }

  async outOfMemory(): Promise<void> {
    await this.#kill((pid) => `touch /proc/${pid}/root${GREEDY_FILE}`);
  }

  /** A box reaches no registry. */
  refusePulls(): void {}

  /** The kernel counts. */
  countLimitHits(): void {}

  async makeFolder(path: string): Promise<void> {
    await this.#node.box.run(["mkdir", "-p", path]);
  }

  async restartAgent(): Promise<void> {
    await this.#done;
    await this.#untilRunning();
    await this.#node.agent.kill();
    await this.#node.agent.start();
  }

  async manifest(pod: Pod): Promise<void> {
    const { nodeName: _, ...spec } = pod.spec ?? { containers: [] };
    const metadata = { name: POD, namespace: this.#namespace };
    this.#node.agent.apply(`${this.#namespace}.json`, {
      metadata,
      spec: withoutBusyPrograms(spec),
    });
    await this.#untilRunning();
  }

  async removeManifest(): Promise<void> {
    this.#node.agent.remove(`${this.#namespace}.json`);
  }

  /** Time passes once all that was asked for is done. */
  async pass(seconds: number): Promise<void> {
    await this.#done;
    await sleep(seconds * 1000);
  }

  #ask(method: string, path: string, body: object, contentType?: string): void {
    const full = `/api/v1/namespaces/${this.#namespace}/${path}`;
    this.#then(() => this.#node.ask(method, full, body, contentType));
  }

  #then(act: () => Promise<unknown>): void {
    this.#done = this.#done.then(async () => void (await act()));
    // It is reported where `done` is waited for.
    this.#done.catch(() => {});
  }

  async #kill(command: (pid: string) => string): Promise<void> {
    await this.#done;
    const id = idOf(await this.#untilRunning());
    await this.#node.box.run(["sh", "-c", command(await this.#pidOf(id))]);
    this.#killed.add(id);
  }

  async #pidOf(id: string): Promise<string> {
    const tasks = await this.#node.box.ctr("tasks", "ls");
    const pid = tasks
      .split("\n")
      .find((line) => line.startsWith(id))
      ?.split(/\s+/)[1];
    assert.ok(id !== "" && pid, `no task of ${id}:\n${tasks}`);
    return pid;
  }

  /** What is done to a pod is done once it runs, however late that is. */
  async #untilRunning(): Promise<Pod> {
    const deadline = performance.now() + WAIT_MS;
    for (;;) {
      const pods = await this.#node.pods(this.#namespace);
      const found = pods.find((pod) => idOf(pod) !== "" && !this.#killed.has(idOf(pod)));
      if (found) return found;
      assert.ok(performance.now() < deadline, `${this.#namespace}: no container runs`);
      await sleep(POLL_MS);
    }
  }
}

/** Id of the pod's first container where that runs, else empty. */
function idOf({ status }: Pod): string {
  const { state, containerID = "" } = status?.containerStatuses?.[0] ?? {};
  return state?.running ? containerID.replace(/^.*\/\//, "") : "";
}
