/** The real agent with its real server on real sockets, in a world whose machine and runtime are fakes. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { request as secureRequest } from "node:https";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { launchAgent, type RunningAgent } from "../../src/agent.ts";
import type { Pod } from "../../src/api/generated/types.ts";
import { defaultPod } from "../../src/api/pod/pod-defaults.ts";
import { DEFAULT_CONFIG } from "../../src/config/fields/defaults.ts";
import type { KubeletConfig } from "../../src/config/kubelet-config.ts";
import type { Cell } from "../../src/kit/cell.ts";
import { silentLog } from "../../src/kit/log.ts";
import { createSeededRandom } from "../../src/kit/random.ts";
import type { Tracer } from "../../src/kit/tracing/tracing.ts";
import { openFolderBeneath } from "../../src/outside/host/files/open-folder.ts";
import type { Outside } from "../../src/outside/outside.ts";
import { connectServing } from "../../src/outside/serving.ts";
import type { PodSink } from "../../src/pipeline/sources/sources.ts";
import type { ServerOptions } from "../../src/server/server.ts";
import { FakeApiServer } from "../sim/fake-apiserver.ts";
import { FakeHost } from "../sim/fake-host.ts";
import { FakeRuntime } from "../sim/fake-runtime.ts";
import { commandOf, type Program } from "../sim/programs.ts";
import { SimClock } from "../sim/sim-clock.ts";
import { type Answer, answerOf } from "./http.ts";

const NODE = "node-1";
const IMAGE = "nodelet.test/nodelet-test:1";
/** Virtual time follows real time in steps of this. */
const STEP_MS = 5;

/** How a world differs from the usual one. */
export interface WorldOptions {
  readonly config?: Partial<KubeletConfig>;
  /** Makes it a node of a cluster with an API server that is asked about callers. */
  readonly cluster?: boolean;
  /** Files of the fake machine. */
  readonly files?: Readonly<Record<string, string>>;
  /** What the runtime says where its streaming server is. */
  readonly streamingUrl?: () => string;
  /** Options of the server beside the usual ones. */
  readonly server?: Partial<ServerOptions>;
  /** Records spans of the agent. */
  readonly tracer?: Tracer;
  /** Verbosity of the log, which callers may change. */
  readonly verbosity?: Cell<number>;
  /** Starts the agent in place of `launchAgent`, which leaves `agent` unset. */
  readonly start?: (...start: Parameters<typeof launchAgent>) => Promise<AsyncDisposable>;
}

/** What a request over the agent's own socket may carry. */
export interface LocalOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A running agent and the ways to ask it. */
export class ServedWorld implements AsyncDisposable {
  readonly clock = new SimClock({ wallMs: Date.now() });
  readonly host = new FakeHost({ clock: this.clock });
  readonly runtime = new FakeRuntime(this.clock, createSeededRandom(1));
  readonly folder = mkdtempSync(join(tmpdir(), "nodelet-server-"));
  readonly logs = join(this.folder, "logs");
  readonly socketPath = join(this.folder, "run", "agent.sock");
  /** Asked about callers, in a cluster. */
  readonly api = new FakeApiServer(this.clock, createSeededRandom(3));
  readonly #options: WorldOptions;
  readonly #serving: ReturnType<typeof connectServing>;
  #moving: Promise<void> = Promise.resolve();
  #mover: NodeJS.Timeout | undefined;
  #agent: RunningAgent | undefined;
  #running: AsyncDisposable | undefined;
  #sink: PodSink | undefined;

  constructor(options: WorldOptions = {}) {
    this.#options = options;
    this.#serving = connectServing(openFolderBeneath, options.verbosity);
  }

  get agent(): RunningAgent {
    if (!this.#agent) throw new Error("the agent does not run");
    return this.#agent;
  }

  async start(): Promise<this> {
    for (const [path, text] of Object.entries(this.#options.files ?? {})) {
      await this.host.files.makeDirectory(dirname(path), 0o755);
      await this.host.files.writeAtomic(path, text, 0o600);
    }
    let before = performance.now();
    this.#mover = setInterval(() => {
      const now = performance.now();
      const ms = now - before;
      before = now;
      this.#moving = this.#moving.then(() => this.clock.advance(ms));
    }, STEP_MS);
    const start: Parameters<typeof launchAgent> = [
      {
        config: {
          ...DEFAULT_CONFIG,
          port: 0,
          healthzPort: 0,
          address: "127.0.0.1",
          podLogsDir: this.logs,
          ...this.#options.config,
        },
        nodeName: NODE,
        rootFolder: "/var/lib/kubelet",
        server: {
          certFolder: "/var/lib/kubelet/pki",
          socketPath: this.socketPath,
          versions: { nodelet: "0.0.0", kubernetes: "v1.36.2" },
          ...this.#options.server,
        },
      },
      this.#outside(),
      {
        ...(this.#options.cluster ? { cluster: { transport: this.api } } : {}),
        sources: [
          {
            name: "test",
            follow: async (sink, signal) => {
              this.#sink = sink;
              sink.synced();
              await new Promise((resolve) => signal.addEventListener("abort", resolve));
            },
          },
        ],
      },
    ];
    if (this.#options.start) this.#running = await this.#options.start(...start);
    else this.#running = this.#agent = await launchAgent(...start);
    return this;
  }

  /** Sets a desired pod with one container `c`, and waits until `phase` holds. */
  async run(name: string, program: Program, more: Partial<Pod["spec"]> = {}): Promise<Pod> {
    const pod = defaultPod({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: "default", uid: `uid-${name}` },
      spec: {
        restartPolicy: "Never",
        terminationGracePeriodSeconds: 1,
        containers: [{ name: "c", image: IMAGE, command: commandOf(program) }],
        ...more,
      },
    });
    this.#sink?.setDesired(pod);
    return pod;
  }

  drop(uid: string): void {
    this.#sink?.drop(uid);
  }

  /** Waits until `test` holds. */
  async until(test: () => boolean | Promise<boolean>, what: string): Promise<void> {
    const deadline = performance.now() + 20_000;
    while (!(await test())) {
      if (performance.now() > deadline) throw new Error(`never so: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, STEP_MS));
    }
  }

  /** Lets time pass at once. */
  clockForward(ms: number): Promise<void> {
    this.#moving = this.#moving.then(() => this.clock.advance(ms));
    return this.#moving;
  }

  /** Waits for the phase of a pod. */
  async untilPhase(name: string, phase: string): Promise<void> {
    const is = () =>
      this.agent.pipeline.statuses
        .list()
        .some(({ pod, status }) => pod.metadata?.name === name && status.phase === phase);
    await this.until(is, `${name} ${phase}`);
  }

  /** Writes a log as the runtime would. */
  writeLog(pod: string, content: string, restartCount = 0): string {
    const path = this.#logPath(pod, "c", restartCount);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  }

  /** Asks over the agent's own socket. */
  local(path: string, method = "GET", options: LocalOptions = {}): Promise<Answer> {
    const { headers = {}, body } = options;
    const { socketPath } = this;
    return answerOf(request({ socketPath, path, method, headers, agent: false }), body);
  }

  /** Asks over TCP with TLS; `port` 0 means the HTTPS port. */
  secure(path: string, options: object = {}): Promise<Answer> {
    const { secure } = this.agent.served?.addresses ?? {};
    const at = secure?.kind === "tcp" ? secure : { host: "", port: 0 };
    return answerOf(
      secureRequest({
        host: at.host,
        port: at.port,
        path,
        agent: false,
        rejectUnauthorized: false,
        ...options,
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running?.[Symbol.asyncDispose]();
    clearInterval(this.#mover);
    await this.#moving;
    this.#serving.close();
    rmSync(this.folder, { recursive: true });
  }

  #logPath(pod: string, container: string, restartCount: number): string {
    return join(this.logs, `default_${pod}_uid-${pod}`, container, `${restartCount}.log`);
  }

  #outside(): Outside {
    const { runtime } = this.runtime;
    const url = async () => this.#options.streamingUrl?.() ?? "http://127.0.0.1:1/";
    return {
      clock: this.clock,
      random: createSeededRandom(2),
      log: silentLog,
      ...(this.#options.tracer ? { tracer: this.#options.tracer } : {}),
      host: this.host,
      serving: this.#serving,
      net: {
        http: async () => ({ kind: "response", status: 200, body: "", redirectedAway: false }),
        tcpConnect: async () => ({ kind: "connected" }),
        grpcHealth: async () => ({ kind: "status", status: "SERVING" }),
      },
      cri: {
        images: this.runtime.images,
        runtime: {
          ...runtime,
          containerStatus: async (id, signal) => {
            const status = await runtime.containerStatus(id, signal);
            const pod = status.labels["io.kubernetes.pod.name"] ?? "";
            const { name = "", attempt = 0 } = status.metadata ?? {};
            return { ...status, logPath: this.#logPath(pod, name, attempt) };
          },
          exec: url,
          attach: url,
          portForward: url,
        },
      },
    };
  }
}

/** Starts a world. */
export async function startWorld(options: WorldOptions = {}): Promise<ServedWorld> {
  const world = new ServedWorld(options);
  try {
    return await world.start();
  } catch (error) {
    await world[Symbol.asyncDispose]();
    throw error;
  }
}
