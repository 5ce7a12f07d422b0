/** A node for the chaos: a box, an agent that brings its own API, and what both are asked. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Pod } from "../../src/api/generated/types.ts";
import { connectCri } from "../../src/outside/cri/connect-cri.ts";
import type { Box } from "../box/box.ts";
import { BoxedAgent } from "../support/agent.ts";
import { askOwnApi, OWN_API } from "../support/own-api.ts";

const API = "/var/lib/kubelet-api";
const NODE = "node-1";
export const PODS = "/api/v1/namespaces/default/pods";
const API_WITHIN_MS = 60_000;
const CONFIG = `
crashLoopBackOff: {maxContainerRestartPeriod: 3s}
maxPods: 300
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 10Mi, nodefs.available: 1%, imagefs.available: 1%}`;

/** A process of a container or sandbox, as the kernel's groups show it. */
export interface PodProcess {
  /** As the machine counts. */
  readonly pid: number;
  readonly podUid: string;
  /** Id of container or sandbox. */
  readonly id: string;
  readonly isSandbox: boolean;
}

/** The box with its agent. */
export class ChaosNode {
  readonly box: Box;
  readonly agent: BoxedAgent;

  private constructor(box: Box, agent: BoxedAgent) {
    this.box = box;
    this.agent = agent;
  }

  static async start(box: Box): Promise<ChaosNode> {
    const agent = await BoxedAgent.start(box, {
      config: CONFIG,
      flags: [`--hostname-override=${NODE}`],
      env: OWN_API.env(API),
    });
    const node = new ChaosNode(box, agent);
    await node.agent.until(
      "the node is Ready in its API",
      async () => {
        const found = await node.ask("GET", `/api/v1/nodes/${NODE}`).catch(() => undefined);
        return (
          JSON.stringify(found?.body ?? "").includes('"type":"Ready","status":"True"') ||
          conditionIsTrue(found?.body, "Ready")
        );
      },
      API_WITHIN_MS,
    );
    return node;
  }

  /** One request to the agent's own API; rejects when it is away. */
  async ask(method: string, path: string, body?: unknown) {
    return await askOwnApi(this.box, { method, path, ...(body === undefined ? {} : { body }) });
  }

  /** All pods as the API shows them, those of manifests by their mirrors. */
  async pods(): Promise<readonly Pod[]> {
    const { status, body } = await this.ask("GET", PODS);
    if (status !== 200) throw new Error(`list of pods: ${status} ${JSON.stringify(body)}`);
    return (body as { items: readonly Pod[] }).items;
  }

  /** Sandboxes and containers that the runtime has. */
  async runtimeObjects() {
    const cri = connectCri({ runtimeEndpoint: `unix://${this.box.criSocket}`, timeoutMs: 30_000 });
    const { signal } = new AbortController();
    try {
      const sandboxes = await cri.runtime.listSandboxes({}, signal);
      const containers = await cri.runtime.listContainers({}, signal);
      const statuses = await Promise.all(
        sandboxes.map(({ id }) => cri.runtime.sandboxStatus(id, signal)),
      );
      return { sandboxes, containers, statuses };
    } finally {
      cri.close();
    }
  }

  /** Every process in a group of a pod. */
  processes(): readonly PodProcess[] {
    const root = this.box.cgroupPath("/kubepods");
    return entries(root).flatMap((path) => {
      const [, uid, id] = /pod([^/]+)\/([0-9a-f]{64})$/.exec(path) ?? [];
      if (uid === undefined || id === undefined) return [];
      return read(join(root, path, "cgroup.procs"))
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => {
          const pid = Number(line);
          const isSandbox = read(`/proc/${pid}/comm`).trim() === "pause";
          return { pid, podUid: uid, id, isSandbox };
        });
    });
  }
}

/** The uid by which runtime and folders know a pod: a static pod's own, not its mirror's. */
export function localUid({ metadata }: Pod): string {
  return metadata?.annotations?.["kubernetes.io/config.hash"] ?? metadata?.uid ?? "";
}

function conditionIsTrue(object: unknown, type: string): boolean {
  const { status } = object as { status?: Pod["status"] };
  return status?.conditions?.some((each) => each.type === type && each.status === "True") ?? false;
}

function entries(path: string): readonly string[] {
  try {
    return readdirSync(path, { recursive: true, encoding: "utf8" });
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
