/** The devices module with plugins and pods, on virtual time; the pods' lives are what the test says. */
import type { Decision } from "../../src/api/decisions.ts";
import type { EventText } from "../../src/api/event-text.ts";
import type { Container } from "../../src/api/generated/types.ts";
import type { ObservedContainer, ObservedPod, PodUid } from "../../src/api/observation.ts";
import type { IdentifiedPod } from "../../src/api/pod-identity.ts";
import type { TopologySettings } from "../../src/config/topology.ts";
import { silentLog } from "../../src/kit/log.ts";
import { MetricsRegistry } from "../../src/kit/metrics.ts";
import { createSeededRandom } from "../../src/kit/random.ts";
import { TaskScope } from "../../src/kit/scope.ts";
import { StateFiles } from "../../src/kit/state/state-files.ts";
import { Topology } from "../../src/pipeline/admission/topology/topology.ts";
import {
  type DevicePod,
  Devices,
  type DevicesOptions,
} from "../../src/subsystems/devices/devices.ts";
import { ledgerFaults } from "../../src/subsystems/devices/ledger/ledger.ts";
import { FakeGrpc, type GrpcProcess } from "../sim/fake-grpc.ts";
import { FakeHost } from "../sim/fake-host.ts";
import { killable, type Life } from "../sim/killable.ts";
import { SimClock } from "../sim/sim-clock.ts";
import { type TestDevice, TestPlugin, type TestPluginOptions } from "../support/device-plugin.ts";
import { factsOf } from "../support/pod-facts.ts";

/** Where plugins and the checkpoint are. */
export const FOLDER = "/var/lib/kubelet/device-plugins";
/** The resource of most tests. */
export const GPU = "v.com/gpu";

/** Devices `g0` … */
export function gpus(amount: number, prefix = "g"): readonly TestDevice[] {
  return Array.from({ length: amount }, (_, i) => ({ id: `${prefix}${i}` }));
}

/** A static pod whose containers are written `name=amount`, init containers with `i:` before, sidecars with `s:`. */
export function podOf(uid: string, text: string, resource = GPU): IdentifiedPod {
  const parts = text.split(" ").map((part) => {
    const [, kind = "", name = "", amount = "0"] = /^(i:|s:)?(\w+)=(\d+)$/.exec(part) ?? [];
    const container: Container = {
      name,
      resources: { limits: { [resource]: amount } },
      ...(kind === "s:" ? { restartPolicy: "Always" } : {}),
    };
    return { init: kind !== "", container };
  });
  return {
    metadata: {
      name: uid,
      namespace: "default",
      uid: uid as PodUid,
      annotations: { "kubernetes.io/config.source": "file" },
    },
    spec: {
      initContainers: parts.filter(({ init }) => init).map(({ container }) => container),
      containers: parts.filter(({ init }) => !init).map(({ container }) => container),
    },
  };
}

/** A container as the runtime has it. */
export function runningContainer(name: string, devices?: string): ObservedContainer {
  return {
    id: `${name}-id`,
    name,
    sandboxId: "s",
    state: "running",
    restartCount: 0,
    hash: "",
    image: "",
    imageRef: "",
    imageId: "",
    createdAtMs: 0 as ObservedContainer["createdAtMs"],
    startedAtMs: undefined,
    finishedAtMs: undefined,
    exitCode: 0,
    reason: "",
    message: "",
    ...(devices === undefined ? {} : { devices }),
  };
}

/** One machine; the agent's module may be killed and started again. */
export class DeviceWorld {
  readonly clock = new SimClock();
  readonly host = new FakeHost({ clock: this.clock });
  readonly net = new FakeGrpc({
    clock: this.clock,
    files: this.host.files,
    random: createSeededRandom(1),
  });
  readonly nodeEvents: EventText[] = [];
  readonly podEvents: EventText[] = [];
  readonly decisions: Decision[] = [];
  readonly changed: string[] = [];
  /** Capacity that the node shows. */
  readonly advertised = new Map<string, string>();
  readonly pods = new Map<PodUid, IdentifiedPod>();
  readonly #options: DevicesOptions;
  readonly #settings: TopologySettings;
  #life:
    | { readonly life: Life; readonly process: GrpcProcess; readonly scope: TaskScope }
    | undefined;
  #devices: Devices | undefined;
  #topology: Topology | undefined;
  metrics = new MetricsRegistry();

  constructor(
    options: Partial<Omit<DevicesOptions, "numaNodes">> = {},
    topology: TopologySettings = { policy: "none", scope: "container", nodes: [0] },
  ) {
    this.#settings = topology;
    this.#options = {
      folder: FOLDER,
      numaNodes: topology.nodes,
      deferMs: 120_000,
      allocateMs: 30_000,
      keepInitDevices: false,
      ...options,
    };
  }

  get devices(): Devices {
    if (!this.#devices) throw new Error("the module is not open");
    return this.#devices;
  }

  get topology(): Topology {
    if (!this.#topology) throw new Error("the module is not open");
    return this.#topology;
  }

  /** Starts the agent's module; `found` is what runs. */
  async open(found: readonly ObservedPod[] = []): Promise<this> {
    const process = this.net.process();
    const life = killable({
      clock: this.clock,
      random: createSeededRandom(2),
      log: silentLog,
      host: this.host,
      cri: { runtime: {}, images: {} } as never,
      net: {} as never,
    });
    const { clock } = life.outside;
    const scope = new TaskScope("agent", { clock, log: silentLog });
    this.#life = { life, process, scope };
    this.metrics = new MetricsRegistry();
    const devices = new Devices(this.#options, {
      grpc: process.grpc,
      files: life.outside.host.files,
      state: new StateFiles({ files: life.outside.host.files, clock, log: silentLog }),
      clock,
      log: silentLog,
      scope,
      metrics: this.metrics,
      events: {
        ofNode: (event) => this.nodeEvents.push(event),
        ofPod: (_, event) => this.podEvents.push(event),
      },
      decisions: { record: (_, decision) => this.decisions.push(decision) },
      news: {
        publish: (news) => news.kind === "devices" && this.changed.push(`${news.uid} ${news.what}`),
      },
      pods: factsOf(() => this.pods.values()),
      advertised: (resource) => this.advertised.get(resource),
    });
    await this.settled(devices.start());
    devices.adopt(found);
    this.#devices = devices;
    const { metrics } = this;
    this.#topology = new Topology(this.#settings, { providers: [devices], metrics, clock });
    return this;
  }

  /** `kill -9` of the agent. */
  kill(): void {
    this.#life?.life.end();
    this.#life?.process.kill();
    this.#devices = undefined;
  }

  /** Ends the agent in an orderly way. */
  async close(): Promise<void> {
    await this.settled(this.#life?.scope[Symbol.asyncDispose]() ?? Promise.resolve());
    this.#life?.process.kill();
    this.#devices = undefined;
  }

  /** A plugin process; not started yet. */
  plugin(
    devices: readonly TestDevice[],
    options: Partial<TestPluginOptions> = {},
  ): { readonly plugin: TestPlugin; readonly process: GrpcProcess } {
    const process = this.net.process();
    const plugin = new TestPlugin(
      process.grpc,
      { resource: GPU, socketName: "gpu.sock", folder: FOLDER, ...options },
      devices,
    );
    return { plugin, process };
  }

  /** A plugin that has registered and named its devices. */
  async startPlugin(
    devices: readonly TestDevice[],
    options: Partial<TestPluginOptions> = {},
  ): Promise<{ readonly plugin: TestPlugin; readonly process: GrpcProcess }> {
    const made = this.plugin(devices, options);
    await this.settled(made.plugin.start());
    await this.clock.advance(1);
    return made;
  }

  /** Asks admission for the pod. */
  async grant(pod: IdentifiedPod) {
    const uid = pod.metadata.uid;
    this.pods.set(uid, pod);
    return this.settled(this.topology.grant(pod));
  }

  /** Starts the container once more; resolves with what its devices add. */
  async parts(pod: IdentifiedPod, name = "c") {
    const placing = this.topology.placeAgain(pod, name);
    if (placing.kind === "refused") throw new Error(placing.message);
    const { signal } = new AbortController();
    return this.settled(this.devices.containerParts(pod, { name }, placing.placement, signal));
  }

  /** Says what is seen of the pod. */
  observe(pod: IdentifiedPod, seen: Partial<DevicePod> = {}): void {
    const uid = pod.metadata.uid;
    this.devices.observe({
      uid,
      pod,
      known: true,
      ended: false,
      initsDone: false,
      running: new Set(),
      ...seen,
    });
  }

  /** What containers of the pod have, as `container=ids`. */
  held(uid: string): string {
    const holdings = this.devices.state.ledger.pods.get(uid as PodUid) ?? [];
    return holdings
      .map(({ container, devices }) => `${container}=${devices.map(({ id }) => id).join("+")}`)
      .join(" ");
  }

  /** Devices that are free, by the report. */
  free(resource = GPU): number {
    return (
      this.devices.report().resources.find((each) => each.resource === resource)?.counts.free ?? 0
    );
  }

  faults(): readonly string[] {
    return ledgerFaults(this.devices.state.ledger);
  }

  /** Moves time until the promise is settled. */
  async settled<T>(work: Promise<T>): Promise<T> {
    let done = false;
    const end = () => {
      done = true;
    };
    work.then(end, end);
    await this.clock.runUntil(() => done, 600_000);
    return work;
  }
}
