import type { Clock } from "../../src/kit/clock.ts";
import { OutsideError } from "../../src/kit/errors.ts";
import type { Random } from "../../src/kit/random.ts";
import type {
  ContainerConfig,
  ContainerRuntime,
  DeepPartial,
  ImageService,
  RuntimeEvent,
  RuntimeService,
  SandboxCalls,
} from "../../src/outside/cri/cri.ts";
import { RuntimeConfigResponse, VersionResponse } from "../../src/outside/cri/generated/api.ts";
import { EventSubscriber, unavailable } from "./event-subscriber.ts";
import { FakeImages } from "./fake-images.ts";
import {
  CALM,
  type ContainerCalls,
  containerStats,
  containerStatus,
  type FakeContainer,
  type FakeRuntimeOptions,
  type FakeSandbox,
  hasLabels,
  listedContainer,
  listedSandbox,
  type NodeCalls,
  noStreaming,
  type RuntimeAction,
  runtimeStatus,
  type StreamCalls,
  sandboxStatus,
  sums,
  updateResources,
  VERSION,
} from "./fake-runtime-objects.ts";
import { codeWhenStopped, exitCodeOf, programOf, SIGKILL_CODE } from "./programs.ts";

/**
 * A CRI runtime in memory on virtual time. Passes the same contract as a real one; latency, faults, lost
 * events and restarts are injected from a seeded source, so that a run can be repeated.
 */
export class FakeRuntime implements ContainerRuntime {
  /** What `updateRuntimeConfig` was called with. */
  readonly podCidrs: string[] = [];
  readonly options: FakeRuntimeOptions;
  readonly sandboxes = new Map<string, FakeSandbox>();
  readonly containers = new Map<string, FakeContainer>();
  /** The images, to read and to change. */
  readonly store = new FakeImages();
  readonly actions: RuntimeAction[] = [];
  readonly runtime: RuntimeService;
  readonly images: ImageService;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #subscribers = new Set<EventSubscriber>();
  /** Size of a container's writable layer. */
  layerBytes: (container: FakeContainer) => number = () => 4096;
  /** Called as soon as a container has started, ended or been removed, before anybody is notified of it. */
  onChange: () => void = () => {};
  /** Calls that always fail, by name. */
  readonly refused = new Set<string>();
  #down = false;
  #ids = 0;

  constructor(clock: Clock, random: Random, options: Partial<FakeRuntimeOptions> = {}) {
    this.#clock = clock;
    this.#random = random;
    this.options = { ...CALM, ...options };
    this.runtime = this.#runtimeService();
    this.images = this.store.service((op, signal, act) => this.#call(op, signal, act));
  }

  /** The process of a container ends by itself. */
  exitContainer(
    id: string,
    exitCode: number,
    reason = exitCode === 0 ? "Completed" : "Error",
  ): void {
    const container = this.containers.get(id);
    if (container?.state === "running") this.#exit(container, exitCode, reason);
  }

  /** The sandbox dies with all that is in it, as when its pause process is killed. */
  killSandbox(id: string): void {
    const sandbox = this.sandboxes.get(id);
    if (!sandbox?.ready) return;
    sandbox.ready = false;
    this.#emit(id, "stopped");
    for (const container of this.containers.values()) {
      if (container.sandboxId === id && container.state === "running")
        this.#exit(container, SIGKILL_CODE, "Error");
    }
  }

  /** The daemon goes away; containers run on. */
  goDown(): void {
    this.#down = true;
    for (const subscriber of this.#subscribers) subscriber.end(unavailable());
    this.#subscribers.clear();
  }

  comeBack(): void {
    this.#down = false;
  }

  #runtimeService(): RuntimeService {
    return {
      ...this.#nodeCalls(),
      ...this.#sandboxCalls(),
      ...this.#containerCalls(),
      ...this.#streamCalls(),
    };
  }

  #nodeCalls(): NodeCalls {
    return {
      version: (signal) =>
        this.#call("version", signal, () => VersionResponse.fromPartial(VERSION)),
      status: (signal) => this.#call("status", signal, () => runtimeStatus(this.options)),
      runtimeConfig: (signal) =>
        this.#call("runtimeConfig", signal, () =>
          RuntimeConfigResponse.fromPartial({ linux: { cgroupDriver: 1 } }),
        ),
      updateRuntimeConfig: (podCidr, signal) =>
        this.#call("updateRuntimeConfig", signal, () => void this.podCidrs.push(podCidr)),
      events: (signal) => this.#events(signal),
    };
  }

  #sandboxCalls(): SandboxCalls {
    return {
      listSandboxes: (filter, signal) =>
        this.#call("listSandboxes", signal, () =>
          [...this.sandboxes.values()]
            .filter(({ config }) => hasLabels(config.labels, filter.labelSelector))
            .map((sandbox) => listedSandbox(sandbox)),
        ),
      sandboxStatus: (id, signal) =>
        this.#call("sandboxStatus", signal, () => sandboxStatus(this.#sandbox(id))),
      runSandbox: (config, handler, signal) =>
        this.#call("runSandbox", signal, () => {
          const { namespace, name, uid, attempt } = config.metadata ?? {};
          const taken = [...this.sandboxes.values()].some(
            ({ config: { metadata } }) =>
              metadata?.namespace === namespace &&
              metadata?.name === name &&
              metadata?.uid === uid &&
              metadata?.attempt === attempt,
          );
          if (taken)
            throw new OutsideError(
              "io",
              `failed to reserve sandbox name "${name}_${namespace}_${uid}_${attempt}"`,
            );
          const id = this.#newId("sandbox");
          const ip = `10.1.${(this.#ids >> 8) % 256}.${this.#ids % 256}`;
          const createdAt = this.#nanos();
          this.sandboxes.set(id, {
            id,
            config,
            createdAt,
            ip,
            handler,
            ready: true,
            networkHeld: true,
          });
          this.#note("runSandbox", uid ?? "", id);
          this.#emit(id, "started");
          return id;
        }),
      stopSandbox: (id, signal) =>
        this.#call("stopSandbox", signal, () => {
          const sandbox = this.sandboxes.get(id);
          if (!sandbox) return;
          this.#note("stopSandbox", sandbox.config.metadata?.uid ?? "", id);
          this.#noteForced(id);
          this.killSandbox(id);
          sandbox.networkHeld = false;
        }),
      updateSandbox: (_id, _, signal) => this.#call("updateSandbox", signal, sums(this.options)),
      removeSandbox: (id, signal) =>
        this.#call("removeSandbox", signal, () => {
          const sandbox = this.sandboxes.get(id);
          if (!sandbox) return;
          this.#noteForced(id);
          this.killSandbox(id);
          for (const container of [...this.containers.values()]) {
            if (container.sandboxId === id) this.#remove(container);
          }
          this.sandboxes.delete(id);
          this.#note("removeSandbox", sandbox.config.metadata?.uid ?? "", id);
        }),
    };
  }

  #containerCalls(): ContainerCalls {
    return {
      listContainers: (filter, signal) =>
        this.#call("listContainers", signal, () =>
          [...this.containers.values()]
            .filter(({ config }) => hasLabels(config.labels, filter.labelSelector))
            .map((container) => listedContainer(container)),
        ),
      containerStatus: (id, signal) =>
        this.#call("containerStatus", signal, () => containerStatus(this.#container(id))),
      listContainerStats: (signal) =>
        this.#call("listContainerStats", signal, () =>
          containerStats([...this.containers.values()], this.layerBytes, this.#nanos()),
        ),
      createContainer: (sandboxId, config, _sandbox, signal) =>
        this.#call("createContainer", signal, () => this.#create(this.#sandbox(sandboxId), config)),
      startContainer: (id, signal) =>
        this.#call("startContainer", signal, () => this.#start(this.#container(id))),
      stopContainer: (id, graceSeconds, signal) => this.#stop(id, graceSeconds, signal),
      removeContainer: (id, signal) =>
        this.#call("removeContainer", signal, () => {
          const container = this.containers.get(id);
          if (container) this.#remove(container);
        }),
      updateContainer: (id, resources, signal) =>
        this.#call("updateContainer", signal, () =>
          this.#noteContainer("updateContainer", updateResources(this.#container(id), resources)),
        ),
    };
  }

  #streamCalls(): StreamCalls {
    return {
      execSync: (id, command, _timeout, signal) =>
        this.#call("execSync", signal, () => {
          const { state } = this.#container(id);
          if (state !== "running") throw new OutsideError("io", `container ${id} is not running`);
          const exitCode = this.options.commandFault || exitCodeOf(command);
          return { exitCode, stdout: new Uint8Array(), stderr: new Uint8Array() };
        }),
      exec: (_request, _command, signal) => this.#call("exec", signal, noStreaming),
      attach: (_request, signal) => this.#call("attach", signal, noStreaming),
      portForward: (_id, _ports, signal) => this.#call("portForward", signal, noStreaming),
      reopenLog: (id, signal) => this.#call("reopenLog", signal, () => void this.#container(id)),
    };
  }

  /** Every call takes its time, may fail, and may fail after it has worked. */
  async #call<T>(op: string, signal: AbortSignal, act: () => T): Promise<T> {
    await this.#clock.sleep(Math.floor(this.#random.next() * this.options.latencyMs), signal);
    this.#refuse(op, this.options.faults);
    const result = act();
    this.#refuse(op, this.options.lateFaults);
    return result;
  }

  #refuse(op: string, probability: number): void {
    if (this.#down) throw unavailable();
    if (this.refused.has(op) || (probability > 0 && this.#random.next() < probability))
      throw new OutsideError("io", `${op}: injected fault`);
  }

  #create(sandbox: FakeSandbox, config: DeepPartial<ContainerConfig>): string {
    if (!sandbox.ready) throw new OutsideError("io", `sandbox ${sandbox.id} is not running`);
    const image = config.image?.image ?? "";
    if (!this.store.find(image)) throw new OutsideError("notFound", `image ${image} not found`);
    const id = this.#newId("container");
    this.containers.set(id, {
      id,
      sandboxId: sandbox.id,
      config,
      createdAt: this.#nanos(),
      program: programOf([...(config.command ?? []), ...(config.args ?? [])]),
      state: "created",
      startedAt: 0n,
      finishedAt: 0n,
      exitCode: 0,
      reason: "",
      cancelExit: undefined,
    });
    return id;
  }

  #start(container: FakeContainer): void {
    if (container.state !== "created")
      throw new OutsideError("io", `container ${container.id} is ${container.state}`);
    if (!this.#sandbox(container.sandboxId).ready)
      throw new OutsideError("io", "sandbox is not running");
    if (!container.program) {
      this.#exit(container, 128, "StartError");
      throw new OutsideError("io", "exec: executable file not found in $PATH");
    }
    container.state = "running";
    container.startedAt = this.#nanos();
    this.#noteContainer("startContainer", container);
    this.#emit(container.id, "started");
    if (container.program.kind === "exit") {
      const { afterMs, code } = container.program;
      container.cancelExit = this.#clock.alarm(afterMs, () =>
        this.exitContainer(container.id, code),
      );
    }
  }

  async #stop(id: string, graceSeconds: number, signal: AbortSignal): Promise<void> {
    const container = await this.#call("stopContainer", signal, () => this.containers.get(id));
    if (container?.state !== "running") {
      if (container?.state === "created") this.#exit(container, SIGKILL_CODE, "Error");
      return;
    }
    this.#noteContainer(`stopContainer ${graceSeconds}`, container);
    if (container.program?.kind === "stubborn") {
      await this.#clock.sleep(graceSeconds * 1000, signal);
      if (this.#down) throw unavailable();
    }
    if (container.state !== "running") return;
    const code = codeWhenStopped(container.program);
    this.#exit(container, code, code === 0 ? "Completed" : "Error");
  }

  #exit(container: FakeContainer, exitCode: number, reason: string): void {
    container.cancelExit?.();
    container.cancelExit = undefined;
    container.state = "exited";
    container.exitCode = exitCode;
    container.reason = reason;
    container.finishedAt = this.#nanos();
    this.#noteContainer("exit", container);
    this.#emit(container.id, "stopped");
  }

  #remove(container: FakeContainer): void {
    if (container.state === "running") this.#exit(container, SIGKILL_CODE, "Error");
    this.containers.delete(container.id);
    this.#noteContainer("removeContainer", container);
    this.#emit(container.id, "deleted");
  }

  #sandbox(id: string): FakeSandbox {
    const sandbox = this.sandboxes.get(id);
    if (!sandbox)
      throw new OutsideError(
        "notFound",
        `an error occurred when try to find sandbox "${id}": not found`,
      );
    return sandbox;
  }

  #container(id: string): FakeContainer {
    const container = this.containers.get(id);
    if (!container)
      throw new OutsideError(
        "notFound",
        `an error occurred when try to find container "${id}": not found`,
      );
    return container;
  }

  #nanos(): bigint {
    return BigInt(Math.floor(this.#clock.wall())) * 1_000_000n + 1n;
  }

  #newId(kind: string): string {
    this.#ids += 1;
    return `${kind}-${this.#ids}`;
  }

  #note(op: string, uid: string, id: string, container?: string): void {
    const atMs = this.#clock.monotonic();
    this.actions.push({ atMs, op, uid, id, ...(container === undefined ? {} : { container }) });
  }

  #noteContainer(op: string, { id, sandboxId, config }: FakeContainer): void {
    const uid = this.sandboxes.get(sandboxId)?.config.metadata?.uid ?? "";
    this.#note(op, uid, id, config.metadata?.name ?? "");
  }

  /** Containers that still run when their sandbox is ended were never asked to stop. */
  #noteForced(sandboxId: string): void {
    for (const container of this.containers.values())
      if (container.sandboxId === sandboxId && container.state === "running")
        this.#noteContainer("forced", container);
  }

  #emit(containerId: string, kind: RuntimeEvent["kind"]): void {
    this.onChange();
    if (this.options.eventLoss > 0 && this.#random.next() < this.options.eventLoss) return;
    for (const subscriber of this.#subscribers)
      subscriber.push({ containerId, podUid: undefined, kind });
  }

  async *#events(signal: AbortSignal): AsyncIterable<RuntimeEvent> {
    if (!this.options.events) throw new OutsideError("unimplemented", "no event stream");
    if (this.#down) throw unavailable();
    const subscriber = new EventSubscriber(signal);
    this.#subscribers.add(subscriber);
    try {
      yield* subscriber.read();
    } finally {
      this.#subscribers.delete(subscriber);
    }
  }
}
