import { type AgentOptions, launchAgent, type RunningAgent } from "../../src/agent.ts";
import type { PodStatus } from "../../src/api/generated/types.ts";
import { isEndedByShutdown } from "../../src/api/node/node-shutdown.ts";
import type { DeviceSettings } from "../../src/assembly/agent-options.ts";
import { DEFAULT_CONFIG } from "../../src/config/fields/defaults.ts";
import type { KubeletConfig } from "../../src/config/kubelet-config.ts";
import { OutsideError } from "../../src/kit/errors.ts";
import { type Log, silentLog } from "../../src/kit/log.ts";
import { createSeededRandom, type Random } from "../../src/kit/random.ts";
import type { ContainerRuntime } from "../../src/outside/cri/cri.ts";
import type { CgroupVersion, HostFacts } from "../../src/outside/host/host.ts";
import type { Net } from "../../src/outside/net/net.ts";
import type { Outside } from "../../src/outside/outside.ts";
import { wrongFact } from "./fact-checks.ts";
import { FakeApiServer } from "./fake-apiserver.ts";
import type { Fault } from "./fake-files.ts";
import { FakeGrpc, type GrpcProcess } from "./fake-grpc.ts";
import { FakeHost } from "./fake-host.ts";
import { FAKE_IMAGE_FOLDER } from "./fake-images.ts";
import { FakeRuntime } from "./fake-runtime.ts";
import type { FakeRuntimeOptions } from "./fake-runtime-objects.ts";
import { killable, type Life } from "./killable.ts";
import { faultOfKilling } from "./probe-checks.ts";
import { SimClock } from "./sim-clock.ts";

export const MANIFESTS = "/etc/manifests";
const NODE = "sim";

/** What fails as the runtime does. */
const VOLUME_WORK: ReadonlySet<string> = new Set(["mount", "bind", "unmount", "writePayload"]);

/** Something the agent did wrong; the message is what a reader of the failing seed needs. */
export class SimFailure extends Error {}

/** What a world has beside the machine. */
export interface WorldOptions {
  /** Whether there is an API server, and the agent is a node of its cluster. */
  readonly cluster?: boolean;
  /** How devices are treated. */
  readonly devices?: DeviceSettings;
  /** Drawn where it is left out. */
  readonly cgroupVersion?: CgroupVersion;
  readonly featureGates?: Readonly<Record<string, boolean>>;
  /** `--node-ip`, and how many ended containers are kept. */
  readonly agent?: Pick<AgentOptions, "nodeIps" | "deadContainers">;
  readonly config?: Partial<KubeletConfig>;
  /** Facts of the machine; default those of `FakeHost`. */
  readonly facts?: Partial<HostFacts>;
  /** `--cloud-provider=external`. */
  readonly externalCloud?: boolean;
}

/** One seeded world: a machine, a runtime and, most of the time, an agent. */
export class World {
  readonly clock = new SimClock();
  readonly random: Random;
  readonly host: FakeHost;
  readonly runtime: FakeRuntime;
  /** Present in a cluster. */
  readonly api: FakeApiServer | undefined;
  /** How programs of the machine speak to each other. */
  readonly grpc: FakeGrpc;
  /** Files that fail to be read. */
  readonly unreadable = new Set<string>();
  /** Asked before every call on files and cgroups, beside the faults of a scenario. */
  fault: Fault = () => undefined;
  /** Connections that probes and hooks make. */
  readonly net: Net;
  readonly trace: string[] = [];
  /** Checks of a scenario of its own, made whenever ours are. */
  watch: () => void = () => {};
  /** What stands between agent and runtime. */
  around: (cri: ContainerRuntime) => ContainerRuntime = (cri) => cri;
  readonly #options: WorldOptions;
  #life: Life | undefined;
  #process: GrpcProcess | undefined;
  #leave: AbortController | undefined;
  #agent: RunningAgent | undefined;
  #starting: Promise<void> | undefined;
  #checkedActions = 0;
  #wrong: string | undefined;
  #startProblem: string | undefined;
  readonly #refused = new Set<string>();
  #phases = new Map<string, string>();

  constructor(
    seed: number,
    options: Partial<FakeRuntimeOptions> = {},
    worldOptions: WorldOptions = {},
  ) {
    this.#options = worldOptions;
    this.random = createSeededRandom(seed);
    const cgroupVersion = this.random.next() < 0.5 ? 1 : 2;
    this.host = new FakeHost({
      clock: this.clock,
      cgroupVersion: worldOptions.cgroupVersion ?? cgroupVersion,
      fault: this.#mountFault(createSeededRandom(seed + 7)),
      ...(worldOptions.facts ? { facts: worldOptions.facts } : {}),
    });
    this.runtime = new FakeRuntime(this.clock, createSeededRandom(seed + 1), options);
    void this.host.files.makeDirectory(FAKE_IMAGE_FOLDER, 0o755);
    this.api = worldOptions.cluster
      ? new FakeApiServer(this.clock, createSeededRandom(seed + 3))
      : undefined;
    // Nothing leaves the agent that the API refuses.
    if (this.api) this.api.onInvalid = (message) => this.blame(message);
    this.grpc = new FakeGrpc({
      clock: this.clock,
      files: this.host.files,
      random: createSeededRandom(seed + 4),
    });
    this.net = {
      http: async () => ({ kind: "response", status: 200, body: "", redirectedAway: false }),
      tcpConnect: async () => ({ kind: "connected" }),
      grpcHealth: async () => ({ kind: "status", status: "SERVING" }),
    };
  }

  get agent(): RunningAgent | undefined {
    return this.#agent;
  }

  get agentRuns(): boolean {
    return this.#life !== undefined;
  }

  /** Why the agent that was started last did not come up. */
  get startProblem(): string | undefined {
    return this.#startProblem;
  }

  note(text: string): void {
    this.trace.push(`${String(Math.round(this.clock.monotonic())).padStart(8)} ${text}`);
  }

  /** Starts an agent as a new process; it may take its time, or never come up while the runtime is away. */
  startAgent(): void {
    if (this.#life) return;
    this.note("agent starts");
    this.#process = this.grpc.process();
    this.#startProblem = undefined;
    const life = killable({ ...this.#outside(), grpc: this.#process.grpc });
    const leave = new AbortController();
    this.#life = life;
    this.#leave = leave;
    const { featureGates = {}, devices, externalCloud = false } = this.#options;
    const config = {
      ...DEFAULT_CONFIG,
      staticPodPath: MANIFESTS,
      podLogsDir: "/var/log/pods",
      ...this.#options.config,
      featureGates,
    };
    this.#starting = launchAgent(
      {
        config,
        nodeName: NODE,
        rootFolder: "/var/lib/kubelet",
        ...(devices ? { devices } : {}),
        ...this.#options.agent,
      },
      life.outside,
      {
        leave: leave.signal,
        ...(this.api ? { cluster: { transport: life.lend(this.api), externalCloud } } : {}),
      },
    ).then(
      (agent) => {
        if (this.#life !== life) return;
        this.#agent = agent;
        agent.pipeline.statuses.subscribe((uid, now) => this.#checkPhase(uid, now?.status));
        agent.subsystems.events.addWatcher("checks", (event) => {
          const { uid } = event.involvedObject;
          const known = agent.pipeline.pods.list().find((record) => record.uid === uid);
          const fault = faultOfKilling(event, known?.pod);
          if (fault !== undefined) this.blame(fault);
        });
      },
      (error: unknown) => {
        if (this.#life !== life) return;
        if (!leave.signal.aborted) this.#startProblem = String(error);
        this.note(`agent failed to start: ${String(error)}`);
      },
    );
  }

  /** `kill -9` of the agent. */
  killAgent(): void {
    if (!this.#life) return;
    this.note("agent is killed");
    this.#life.end();
    this.#process?.kill();
    this.#life = undefined;
    this.#agent = undefined;
  }

  /** Ends the agent as SIGTERM does. */
  async stopAgent(): Promise<void> {
    if (!this.#life) return;
    this.#leave?.abort(new Error("SIGTERM"));
    await this.#starting;
    if (!this.#agent) {
      this.killAgent();
      return;
    }
    this.note("agent stops");
    await this.#agent[Symbol.asyncDispose]();
    this.#life?.end();
    this.#process?.kill();
    this.#life = undefined;
    this.#agent = undefined;
  }

  /** Lets time pass, checking what must always hold at every stop of the clock. */
  async advance(ms: number): Promise<void> {
    const until = this.clock.monotonic() + ms;
    while (this.clock.monotonic() < until) {
      const left = until - this.clock.monotonic();
      await this.clock.advance(Math.min(left, Math.max(1, this.clock.nextInMs ?? left)));
      this.checkAlways();
    }
  }

  /** What must hold at every moment, whatever happens. */
  checkAlways(): void {
    if (this.#wrong !== undefined) this.fail(this.#wrong);
    this.watch();
    const wrong = this.#agent && wrongFact(this.#agent);
    if (wrong !== undefined) this.fail(wrong);
    const forced = this.runtime.actions
      .slice(this.#checkedActions)
      .find(({ op }) => op === "forced");
    if (forced)
      this.fail(
        `container ${forced.id} was ended with its sandbox, without having been asked to stop`,
      );
    this.#checkedActions = this.runtime.actions.length;
    const ready = new Map<string, string>();
    const ownerOf = new Map<number, string>();
    for (const { id, ready: isReady, config } of this.runtime.sandboxes.values()) {
      const uid = config.metadata?.uid ?? "";
      if (!isReady) continue;
      const other = ready.get(uid);
      if (other !== undefined) this.fail(`pod ${uid} has two ready sandboxes: ${other} and ${id}`);
      ready.set(uid, id);
      const ids = config.linux?.securityContext?.namespaceOptions?.usernsOptions?.uids?.[0]?.hostId;
      if (ids === undefined) continue;
      const owner = ownerOf.get(ids);
      if (owner !== undefined)
        this.fail(`pods ${owner} and ${uid} have the ids from ${ids} on both`);
      ownerOf.set(ids, uid);
    }
    const running = new Map<string, string>();
    for (const { id, sandboxId, state, config } of this.runtime.containers.values()) {
      if (state !== "running") continue;
      const sandbox = this.runtime.sandboxes.get(sandboxId);
      if (!sandbox?.ready) this.fail(`container ${id} runs without a ready sandbox`);
      const key = `${sandbox?.config.metadata?.uid} ${config.metadata?.name}`;
      const other = running.get(key);
      if (other !== undefined) this.fail(`two attempts run at once: ${other} and ${id} (${key})`);
      running.set(key, id);
      const parent = sandbox?.config.linux?.cgroupParent ?? "";
      if (!this.host.cgroups.has(parent))
        this.fail(`container ${id} runs outside of its pod's cgroup ${parent}`);
    }
  }

  /** Fails at the next check, from where a throw would be taken for a failure of the outside. */
  blame(message: string): void {
    this.#wrong ??= message;
  }

  /** Mounting and writing of volumes fails as often as the runtime does, reading of what is unreadable always. */
  #mountFault(random: Random): Fault {
    return (operation, path) =>
      this.fault?.(operation, path) ??
      (operation === "readText" && this.unreadable.has(path)
        ? new OutsideError("io", `read ${path}: EIO`)
        : VOLUME_WORK.has(operation) && random.next() < (this.runtime?.options.faults ?? 0)
          ? new OutsideError("io", `${operation} ${path}: made to fail`, { retryable: true })
          : undefined);
  }

  fail(message: string): never {
    throw new SimFailure(message);
  }

  #checkPhase(uid: string, status: PodStatus | undefined): void {
    const before = this.#phases.get(uid);
    const now = status?.phase;
    if (now === undefined) {
      this.#phases.delete(uid);
      return;
    }
    // What was refused is judged again by the next agent.
    const refused = before === "Failed" && this.#refused.has(uid);
    // Static pods, which have no dashes in their UIDs, run again after a shutdown of the machine.
    const runsAgain = isEndedByShutdown(status) && !uid.includes("-");
    if (runsAgain || (status?.reason !== undefined && status.containerStatuses === undefined))
      this.#refused.add(uid);
    const terminal = before === "Succeeded" || (before === "Failed" && !refused);
    if (terminal && now !== before)
      this.fail(`pod ${uid} left the terminal phase ${before} for ${now}`);
    if (before === "Running" && now === "Pending") this.#phases.set(uid, now);
  }

  #outside(): Outside {
    return {
      clock: this.clock,
      random: createSeededRandom(Math.floor(this.random.next() * 2 ** 31)),
      log: this.#log("agent"),
      host: this.host,
      cri: this.around(this.runtime),
      net: this.net,
    };
  }

  /** Warnings and errors go to the trace. */
  #log(name: string): Log {
    const logAt =
      (level: string) => (message: string, fields?: Readonly<Record<string, unknown>>) => {
        const text =
          fields?.["error"] instanceof Error
            ? { ...fields, error: fields["error"].message }
            : fields;
        this.note(`${level} ${name}: ${message} ${JSON.stringify(text ?? {})}`);
      };
    return {
      ...silentLog,
      error: logAt("E"),
      warn: logAt("W"),
      child: (child) => this.#log(child),
    };
  }
}
