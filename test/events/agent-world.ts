// The whole agent on virtual time, with a machine and a runtime that fail where the test says, and an API
// server that keeps the events: what users see in every story.
import { launchAgent, type RunningAgent } from "../../src/agent.ts";
import type { CoreEvent, Pod } from "../../src/api/generated/types.ts";
import { defaultPod } from "../../src/api/pod/pod-defaults.ts";
import { DEFAULT_CONFIG } from "../../src/config/fields/defaults.ts";
import type { KubeletConfig } from "../../src/config/kubelet-config.ts";
import { OutsideError } from "../../src/kit/errors.ts";
import { silentLog } from "../../src/kit/log.ts";
import { createSeededRandom } from "../../src/kit/random.ts";
import type { HostFacts } from "../../src/outside/host/host.ts";
import type { HttpAnswer, HttpExchange } from "../../src/outside/net/net.ts";
import type { Outside } from "../../src/outside/outside.ts";
import type { PodSink } from "../../src/pipeline/sources/sources.ts";
import { FakeHost } from "../sim/fake-host.ts";
import { FakeRuntime } from "../sim/fake-runtime.ts";
import { commandOf, type Program } from "../sim/programs.ts";
import { SimClock } from "../sim/sim-clock.ts";
import { FakeEventApi } from "./fake-event-api.ts";

export const NODE = "n1";
export const IMAGE = "nodelet.test/nodelet-test:1";
const ROOT = "/var/lib/kubelet";

export interface AgentWorldOptions {
  readonly config?: Partial<KubeletConfig>;
  readonly facts?: Partial<HostFacts>;
  readonly cgroupVersion?: 1 | 2;
  readonly files?: Readonly<Record<string, string>>;
  /** Lines of the kernel's log, one batch for each read. */
  readonly kernelLog?: readonly (readonly string[])[];
}

type Container = NonNullable<NonNullable<Pod["spec"]>["containers"]>[number];

/** One agent and its world. */
export class AgentWorld {
  readonly clock = new SimClock();
  readonly api = new FakeEventApi();
  readonly runtime = new FakeRuntime(this.clock, createSeededRandom(1));
  readonly host: FakeHost;
  /** Calls of the runtime and of the machine that fail, by their name, with what they say. */
  readonly faults = new Map<string, string>();
  /** Answers HTTP requests of probes and hooks. */
  http: (exchange: HttpExchange) => HttpAnswer = () => response(200);
  readonly #options: AgentWorldOptions;
  #agent: RunningAgent | undefined;
  #sink: PodSink | undefined;

  constructor(options: AgentWorldOptions = {}) {
    this.#options = options;
    const { cgroupVersion = 2, facts = {} } = options;
    this.host = new FakeHost({
      clock: this.clock,
      cgroupVersion,
      facts,
      fault: (op, path) => this.#fault(op) ?? this.#fault(`${op} ${path}`),
    });
  }

  static async start(options: AgentWorldOptions = {}): Promise<AgentWorld> {
    const world = new AgentWorld(options);
    await world.start();
    return world;
  }

  async start(): Promise<void> {
    for (const [path, text] of Object.entries(this.#options.files ?? {})) {
      await this.host.files.makeDirectory(path.slice(0, path.lastIndexOf("/")), 0o755);
      await this.host.files.writeAtomic(path, text, 0o600);
    }
    this.#agent = await this.#within(
      launchAgent(
        {
          config: { ...DEFAULT_CONFIG, podLogsDir: "/var/log/pods", ...this.#options.config },
          nodeName: NODE,
          rootFolder: ROOT,
        },
        this.#outside(),
        { eventApi: this.api, sources: [this.#source()] },
      ),
    );
  }

  /** Sets a desired pod of one container `c` of the test image, and lets some seconds pass. */
  async setDesired(
    name: string,
    container: Partial<Container> & { readonly program?: Program } = {},
    spec: Partial<NonNullable<Pod["spec"]>> = {},
  ): Promise<void> {
    const { program = { kind: "sleep" }, ...more } = container;
    const uid = `uid-${name}`;
    const only = { name: "c", image: IMAGE, command: commandOf(program), ...more };
    this.#sink?.setDesired(
      defaultPod({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name, namespace: "default", uid },
        spec: { terminationGracePeriodSeconds: 2, containers: [only], ...spec },
      }),
    );
    await this.clock.advance(5_000);
  }

  async drop(name: string): Promise<void> {
    this.#sink?.drop(`uid-${name}`);
    await this.clock.advance(30_000);
  }

  /** `type reason message` of events about an object, with the part it is about; the node's when none is named. */
  reported(name = NODE): readonly string[] {
    return [...this.api.stored.values()]
      .filter(({ involvedObject }) => involvedObject.name === name)
      .map((event) => lineOf(event));
  }

  async stop(): Promise<void> {
    await this.#within(this.#agent?.[Symbol.asyncDispose]());
  }

  async #within<T>(work: Promise<T> | PromiseLike<T> | undefined): Promise<T> {
    let settled = false;
    const end = () => {
      settled = true;
    };
    const running = Promise.resolve(work as Promise<T>);
    running.then(end, end);
    for (let i = 0; i < 600 && !settled; i += 1) await this.clock.advance(100);
    return await running;
  }

  #source() {
    return {
      name: "test",
      follow: async (sink: PodSink, signal: AbortSignal) => {
        this.#sink = sink;
        sink.synced();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
    };
  }

  #fault(op: string): OutsideError | undefined {
    const message = this.faults.get(op);
    return message === undefined ? undefined : new OutsideError("io", message);
  }

  #outside(): Outside {
    const { clock } = this;
    const batches = [...(this.#options.kernelLog ?? [])];
    const kernelLog = { read: () => batches.shift() ?? [], close: () => {} };
    return {
      clock,
      log: silentLog,
      random: createSeededRandom(2),
      host: Object.assign(this.host, { openKernelLog: () => kernelLog }),
      net: {
        http: async (exchange) => this.http(exchange),
        tcpConnect: async () => ({ kind: "connected" }),
        grpcHealth: async () => ({ kind: "status", status: "SERVING" }),
      },
      cri: {
        runtime: this.#failing(this.runtime.runtime),
        images: this.#failing(this.runtime.images),
      },
    };
  }

  /** The service whose calls fail where `faults` says so. */
  #failing<T extends object>(service: T): T {
    return new Proxy(service, {
      get: (target, name) => {
        const call: unknown = Reflect.get(target, name);
        if (typeof call !== "function") return call;
        return (...args: readonly unknown[]): unknown => {
          const fault = this.#fault(String(name));
          return fault ? Promise.reject(fault) : Reflect.apply(call, target, args);
        };
      },
    });
  }
}

/** A response of a peer. */
export function response(status: number, body = ""): HttpAnswer {
  return { kind: "response", status, body, redirectedAway: false };
}

function lineOf({ type, reason, message, involvedObject: { fieldPath } }: CoreEvent): string {
  const part = /\{(.*)\}$/.exec(fieldPath ?? "")?.[1];
  return `${type} ${reason}${part === undefined ? "" : ` {${part}}`}: ${message}`;
}
