// A node of a real control plane, both in one box.
import { fileURLToPath } from "node:url";
import type { Node, Pod } from "../../src/api/generated/types.ts";
import { AGENT_MALLOC, agentNodeFlags } from "../../src/outside/memory/memory.ts";
import { type Box, type BoxOptions, withBox } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { BoxedAgent, STAY } from "../support/agent.ts";
import { type ApiServer, startApiServer } from "./apiserver.ts";
import type { SignerOptions } from "./signer.ts";

/** Name of the node under test. */
export const NODE = "node-1";
/** Path of the pods of the default namespace. */
export const PODS = "/api/v1/namespaces/default/pods";

/** A pod of the test image, bound to the node. */
export function podOf(name: string, more: Partial<NonNullable<Pod["spec"]>> = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      nodeName: NODE,
      terminationGracePeriodSeconds: 2,
      containers: [{ name: "main", image: TEST_IMAGE, command: [...STAY] }],
      ...more,
    },
  };
}

/** Status of a condition. */
export const conditionOf = (object: Pod | Node | undefined, type: string) =>
  object?.status?.conditions?.find((condition) => condition.type === type)?.status;

/** An agent that is a node of a real control plane in the same box. */
export class ClusterNode {
  readonly agent: BoxedAgent;
  readonly server: ApiServer;
  constructor(agent: BoxedAgent, server: ApiServer) {
    this.agent = agent;
    this.server = server;
  }

  async get<T>(path: string): Promise<T | undefined> {
    try {
      const { status, body } = await this.server.request({ method: "GET", path });
      return status === 200 ? (body as T) : undefined;
    } catch {
      // The server is away in some tests.
      return undefined;
    }
  }

  pod(name: string): Promise<Pod | undefined> {
    return this.get(`${PODS}/${name}`);
  }

  node(): Promise<Node | undefined> {
    return this.get(`/api/v1/nodes/${NODE}`);
  }

  untilNodeReady(): Promise<number> {
    return this.agent.until(
      "node is Ready",
      async () => conditionOf(await this.node(), "Ready") === "True",
    );
  }

  untilReady(name: string): Promise<number> {
    return this.agent.until(
      `${name} is Ready`,
      async () => conditionOf(await this.pod(name), "Ready") === "True",
    );
  }
}

/** What is special about a node. */
export interface NodeOptions {
  readonly box?: BoxOptions;
  /** Flags by which the agent finds the server; default a kubeconfig with a certificate of the node. */
  readonly flags?: (server: ApiServer) => Promise<readonly string[]>;
  /** Signs requests for certificates, so. */
  readonly signer?: SignerOptions;
  /** Lines of KubeletConfiguration. */
  readonly config?: string;
  /** Starts Node as `bin/nodelet` does, so that memory counts as users have it. */
  readonly asShipped?: boolean;
  /** Containers exist in the memory of a runtime of the tests only, so that thousands of pods take minutes. */
  readonly memoryRuntime?: boolean;
  /** Flags of kube-apiserver, made with the folder of its files. */
  readonly apiServerFlags?: (folder: string) => readonly string[];
}

const NO_CONTAINERD = { containerd: "none" } as const;
const MEMORY_RUNTIME = fileURLToPath(new URL("../support/memory-runtime.ts", import.meta.url));
const MEMORY_SOCKET = "/run/memory-runtime.sock";

/** Starts the runtime; the agent waits for its socket. Returns the agent's flag. */
function startMemoryRuntime(box: Box): string {
  box.spawnLogged("memory-runtime", [process.execPath, MEMORY_RUNTIME, MEMORY_SOCKET]);
  return `--container-runtime-endpoint=unix://${MEMORY_SOCKET}`;
}

/** Makes a box with control plane and agent, and removes all of it. */
export async function withNode(
  use: (node: ClusterNode, box: Box) => Promise<void>,
  options: NodeOptions = {},
): Promise<void> {
  const { memoryRuntime = false } = options;
  await withBox({ ...(memoryRuntime ? NO_CONTAINERD : {}), ...options.box }, async (box) => {
    const { apiServerFlags, config } = options;
    const endpoint = memoryRuntime ? [startMemoryRuntime(box)] : [];
    await using server = await startApiServer({
      box,
      ...(apiServerFlags ? { flags: apiServerFlags } : {}),
    });
    await using stack = new AsyncDisposableStack();
    if (options.signer) stack.use(server.signRequests(options.signer));
    const flags = options.flags
      ? await options.flags(server)
      : [`--kubeconfig=${await server.nodeKubeconfig(NODE)}`];
    const agent = await BoxedAgent.start(box, {
      ...(config === undefined ? {} : { config }),
      ...(options.asShipped ? { nodeFlags: agentNodeFlags(undefined), env: AGENT_MALLOC } : {}),
      clientCaFile: server.caFile,
      flags: [`--hostname-override=${NODE}`, ...endpoint, ...flags],
    });
    await use(new ClusterNode(agent, server), box);
  });
}
