/** The agent as a process on a node in a box, with its server, and ways to ask it from outside. */
import { mkdirSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { request as secureRequest } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as tlsConnect } from "node:tls";
import { type ClientOptions, WebSocket } from "ws";
import type { Container, Pod, PodList } from "../../src/api/generated/types.ts";
import type { WallMs } from "../../src/kit/clock.ts";
import { AGENT_MALLOC, agentNodeFlags } from "../../src/outside/memory/memory.ts";
import { generateKeyPair, signCertificate } from "../../src/outside/x509/x509.ts";
import { type Box, type BoxOptions, startBox } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { PROGRAM } from "../support/program.ts";
import { type Answer, answerOf } from "./http.ts";

const CONFIG = "/etc/nodelet/config.yaml";
const CA = "/etc/nodelet/ca.crt";
const MANIFESTS = "/etc/nodelet/manifests";
const SOCKET = "/run/nodelet/agent.sock";
const NODE = "node-1";
const WAIT_MS = 60_000;
/** What the agent takes for the runtime's cgroup: one whose usage is known. */
export const RUNTIME_GROUP = "/kubepods/burstable";

/** Certificate and key of a client. */
export interface Client {
  readonly cert: string;
  readonly key: string;
}

/** A node that runs the agent from the checkout. */
export class ServedNode implements AsyncDisposable {
  readonly box: Box;
  /** A member of system:masters, and somebody without groups. */
  readonly master: Client;
  readonly nobody: Client;
  readonly #https: string;

  private constructor(box: Box, clients: readonly [Client, Client], https: string) {
    this.box = box;
    [this.master, this.nobody] = clients;
    this.#https = https;
  }

  /** Makes a box and starts the agent in it as users do, with `env` beside the usual variables. */
  static async start(
    options: BoxOptions = {},
    env: Readonly<Record<string, string>> = {},
  ): Promise<ServedNode> {
    const box = await startBox(options);
    try {
      const clients = await writeClients(box);
      box.write(CONFIG, `${CONFIG_TEXT}\n`);
      mkdirSync(box.path(MANIFESTS));
      const runtime = `--runtime-cgroups=${RUNTIME_GROUP}`;
      const flags = [`--config=${CONFIG}`, `--hostname-override=${NODE}`, runtime, "-v=4"];
      box.spawnLogged(
        "agent",
        [process.execPath, ...agentNodeFlags(undefined), PROGRAM, "run", ...flags],
        { env: { ...AGENT_MALLOC, ...env } },
      );
      const node = new ServedNode(box, clients, await box.forward(10250));
      await node.until(
        async () => (await node.local("/healthz").catch(() => undefined))?.status === 200,
        "the agent answers",
      );
      return node;
    } catch (error) {
      const logs = box.logs();
      await box.dispose();
      throw new Error(`the node did not start\n${logs}`, { cause: error });
    }
  }

  /**
   * Writes a manifest with one container `c` that runs a shell script; every volume it mounts is an
   * empty one.
   */
  run(name: string, script: string, container: Partial<Container> = {}): void {
    const mounts = container.volumeMounts ?? [];
    const pod: Pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: "default" },
      spec: {
        terminationGracePeriodSeconds: 1,
        ...(mounts.length > 0
          ? { volumes: mounts.map((mount) => ({ name: mount.name, emptyDir: {} })) }
          : {}),
        containers: [
          {
            name: "c",
            image: TEST_IMAGE,
            imagePullPolicy: "Never",
            command: ["sh", "-c", script],
            ...container,
          },
        ],
      },
    };
    writeFileSync(this.box.path(`${MANIFESTS}/${name}.json`), JSON.stringify(pod));
  }

  /** Waits until `test` holds for the pod. */
  async untilPod(name: string, test: (pod: Pod) => boolean, what: string): Promise<Pod> {
    let found: Pod | undefined;
    await this.until(async () => {
      const { body } = await this.local("/pods");
      const { items } = JSON.parse(body) as PodList;
      found = items.find((pod) => pod.metadata?.name === `${name}-${NODE}`);
      return found !== undefined && test(found);
    }, `${name} ${what}`);
    return found as Pod;
  }

  /** Waits until the pod's container is ready. */
  untilReady(name: string): Promise<Pod> {
    return this.untilPod(
      name,
      (pod) => pod.status?.containerStatuses?.[0]?.ready === true,
      "is ready",
    );
  }

  async until(test: () => boolean | Promise<boolean>, what: string): Promise<void> {
    const deadline = performance.now() + WAIT_MS;
    while (!(await test())) {
      if (performance.now() > deadline) throw new Error(`never so: ${what}\n${this.box.logs()}`);
      await sleep(20);
    }
  }

  /** Asks over the agent's own socket. */
  local(path: string, method = "GET"): Promise<Answer> {
    return answerOf(request({ socketPath: this.socketPath, path, method, agent: false }));
  }

  /** Asks the HTTPS port as `client`, or as nobody in particular. */
  secure(path: string, client?: Client, method = "GET"): Promise<Answer> {
    return answerOf(
      secureRequest({
        socketPath: this.#https,
        path,
        method,
        agent: false,
        rejectUnauthorized: false,
        ...client,
      }),
    );
  }

  /** Opens a WebSocket over the HTTPS port. */
  webSocket(path: string, client: Client, protocol = "v4.channel.k8s.io"): WebSocket {
    const socketPath = this.#https;
    const options: ClientOptions = {
      perMessageDeflate: false,
      createConnection: () =>
        tlsConnect({ path: socketPath, rejectUnauthorized: false, ...client }),
    };
    return new WebSocket(`wss://node${path}`, protocol, options);
  }

  get socketPath(): string {
    return this.box.path(SOCKET);
  }

  /** The connection that leads to the HTTPS port. */
  get httpsPath(): string {
    return this.#https;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.box.dispose();
  }
}

/** The name of a static pod on the node. */
export function podName(name: string): string {
  return `${name}-${NODE}`;
}

const CONFIG_TEXT = JSON.stringify({
  apiVersion: "kubelet.config.k8s.io/v1beta1",
  kind: "KubeletConfiguration",
  staticPodPath: MANIFESTS,
  fileCheckFrequency: "1s",
  failCgroupV1: false,
  failSwapOn: false,
  volumeStatsAggPeriod: "5s",
  containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
  authentication: { x509: { clientCAFile: CA }, webhook: { enabled: false } },
  enableSystemLogQuery: true,
});

async function writeClients(box: Box): Promise<readonly [Client, Client]> {
  const [root, key] = [await generateKeyPair(), await generateKeyPair()];
  const validity = {
    notBefore: (Date.now() - 60_000) as WallMs,
    notAfter: (Date.now() + 3_600_000) as WallMs,
  };
  const ca = signCertificate(
    {
      ...validity,
      subject: { commonName: "cluster", organizations: [] },
      publicKey: root.publicKey,
      use: "authority",
    },
    { privateKeyPem: root.privateKeyPem },
  );
  box.write(CA, ca);
  const client = (commonName: string, organizations: readonly string[]): Client => ({
    key: key.privateKeyPem,
    cert: signCertificate(
      {
        ...validity,
        subject: { commonName, organizations },
        publicKey: key.publicKey,
        use: ["clientAuth"],
      },
      { certificatePem: ca, privateKeyPem: root.privateKeyPem },
    ),
  });
  return [client("apiserver", ["system:masters"]), client("joe", [])];
}
