// A box with an agent and several static pods, asked over the agent's own socket.

import { existsSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { WebSocket } from "ws";
import type {
  Container,
  ContainerStatus,
  CoreEventList,
  LifecycleHandler,
  Pod,
  PodList,
  PodSpec,
} from "../../src/api/generated/types.ts";
import type { Box } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { answerOf } from "../server/http.ts";
import type { BoxedAgent } from "../support/agent.ts";

const SOCKET = "/run/nodelet/agent.sock";
/** Folder of the node into which pods write what they see. */
export const OUT = "/var/lib/rows";

/** A container of the test image that runs a shell script and has `/out`. */
export const shell = (name: string, script: string, more: Partial<Container> = {}): Container => ({
  name,
  image: TEST_IMAGE,
  command: ["sh", "-c", script],
  volumeMounts: [{ name: "out", mountPath: "/out" }],
  ...more,
});

export const exec = (script: string): LifecycleHandler => ({
  exec: { command: ["sh", "-c", script] },
});

/** The pods of an agent in a box by their name in the manifest. */
export class PodsOfAgent {
  readonly agent: BoxedAgent;
  readonly #box: Box;
  #execs = 0;

  constructor(agent: BoxedAgent) {
    this.agent = agent;
    this.#box = agent.box;
  }

  /** Puts a manifest in place; `/out` leads to the folder `OUT` of the node where a container mounts `out`. */
  apply(name: string, spec: Partial<PodSpec>, metadata: Pod["metadata"] = {}): void {
    const content = {
      metadata: { ...metadata, name },
      spec: {
        terminationGracePeriodSeconds: 5,
        volumes: [{ name: "out", hostPath: { path: OUT } }],
        containers: [],
        ...spec,
      },
    };
    this.agent.apply(`${name}.yaml`, content);
  }

  remove(name: string): void {
    this.agent.remove(`${name}.yaml`);
  }

  async pod(name: string): Promise<Pod | undefined> {
    const { items } = await this.ask<PodList>("/pods");
    return items.find(({ metadata }) => metadata?.name?.startsWith(`${name}-`) === true);
  }

  async container(pod: string, name = "main"): Promise<ContainerStatus | undefined> {
    const status = (await this.pod(pod))?.status;
    return [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])].find(
      (each) => each.name === name,
    );
  }

  /** Waits until the pod has this phase, or is gone. */
  async until(name: string, test: (pod: Pod | undefined) => boolean, what: string): Promise<void> {
    await this.agent.until(`${name} ${what}`, async () => test(await this.pod(name)));
  }

  untilRunning(name: string): Promise<void> {
    const isUp = (pod: Pod | undefined) =>
      pod?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ===
      true;
    return this.until(name, isUp, "is Ready");
  }

  /** Events about a pod, `reason: message`. */
  async events(name: string): Promise<readonly string[]> {
    const { items } = await this.ask<CoreEventList>("/nodelet/v1/events");
    return items
      .filter(({ involvedObject }) => involvedObject.name?.startsWith(`${name}-`))
      .map(({ reason, message }) => `${reason}: ${message}`);
  }

  async ask<T>(path: string): Promise<T> {
    return JSON.parse(await this.text(path)) as T;
  }

  /** What the agent's own socket answers. */
  async text(path: string): Promise<string> {
    const socketPath = this.#box.path(SOCKET);
    const answer = await answerOf(request({ socketPath, path, agent: false }));
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.body}`);
    return answer.body;
  }

  /** What a container of the pod wrote to its outputs. */
  async log(pod: string, container = "main"): Promise<string> {
    const name = (await this.pod(pod))?.metadata?.name;
    const path = `/containerLogs/default/${name}/${container}`;
    const socketPath = this.#box.path(SOCKET);
    return (await answerOf(request({ socketPath, path, agent: false }))).body;
  }

  /** Attaches to a container; input goes to channel 0, what it writes comes on channel 1. */
  async attach(pod: string, query: string, container = "main"): Promise<WebSocket> {
    const name = (await this.pod(pod))?.metadata?.name;
    const path = this.#box.path(SOCKET);
    const socket = new WebSocket(
      `ws://node/attach/default/${name}/${container}?${query}`,
      "v4.channel.k8s.io",
      { perMessageDeflate: false, createConnection: () => connect(path) },
    );
    await new Promise((resolve, reject) => {
      socket.once("open", resolve);
      socket.once("error", reject);
    });
    return socket;
  }

  /** Runs a shell script in a container; gives what it printed. */
  async inside(pod: string, script: string, container = "main"): Promise<string> {
    const id = (await this.container(pod, container))?.containerID?.replace("containerd://", "");
    this.#execs += 1;
    const exec = ["tasks", "exec", "--exec-id", `rows-${process.pid}-${this.#execs}`];
    return this.#box.ctr(...exec, id ?? "", "sh", "-c", script);
  }

  /** Lines of a file that pods wrote in `OUT`. */
  lines(file: string): readonly string[] {
    const path = this.#box.path(`${OUT}/${file}`);
    if (!existsSync(path)) return [];
    return readFileSync(path, "utf8")
      .split("\n")
      .filter((line) => line !== "");
  }
}
