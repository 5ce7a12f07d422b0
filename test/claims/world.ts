/** The module of resource claims with drivers, an API server and pods, on virtual time; the pods' lives are what the test says. */
import type { Decision } from "../../src/api/decisions.ts";
import type { EventText } from "../../src/api/event-text.ts";
import type { PodUid } from "../../src/api/observation.ts";
import type { PodFact } from "../../src/api/pod-facts.ts";
import type { IdentifiedPod } from "../../src/api/pod-identity.ts";
import type { PodNews } from "../../src/api/pod-news.ts";
import type { ResourceClaimObject } from "../../src/api/resource-claim-object.ts";
import { CellMap } from "../../src/kit/cell-map.ts";
import { OutsideError } from "../../src/kit/errors.ts";
import { silentLog } from "../../src/kit/log.ts";
import { MetricsRegistry } from "../../src/kit/metrics.ts";
import { createSeededRandom } from "../../src/kit/random.ts";
import { TaskScope } from "../../src/kit/scope.ts";
import { StateFiles } from "../../src/kit/state/state-files.ts";
import { startPluginRegistry } from "../../src/node/plugin-registry/plugin-registry.ts";
import type { KubeClient, Resource } from "../../src/outside/kube/kube.ts";
import { ResourceClaims } from "../../src/subsystems/resource-claims/resource-claims.ts";
import { FakeGrpc, type GrpcProcess } from "../sim/fake-grpc.ts";
import { FakeHost } from "../sim/fake-host.ts";
import { killable, type Life } from "../sim/killable.ts";
import { SimClock } from "../sim/sim-clock.ts";
import { ClaimDriver, type ClaimDriverOptions } from "../support/claim-driver.ts";
import { aFact } from "../support/pod-facts.ts";

const REGISTRY = "/var/lib/kubelet/plugins_registry";
/** Where the claims are kept. */
export const STATE_FILE = "/var/lib/kubelet/dra_manager_state";
const DRIVER = "gpu.example.com";

/** A pod with these claims, one container that uses the first of them. */
export function claimingPod(name: string, ...claims: readonly string[]): IdentifiedPod {
  return {
    metadata: { name, namespace: "default", uid: `${name}-uid` as PodUid },
    spec: {
      resourceClaims: claims.map((claim) => ({ name: claim, resourceClaimName: claim })),
      containers: [
        { name: "c", resources: { claims: claims.slice(0, 1).map((claim) => ({ name: claim })) } },
      ],
    },
  };
}

/** One machine; the agent's module may be killed and started again. */
export class ClaimWorld {
  readonly clock = new SimClock();
  readonly host = new FakeHost({ clock: this.clock });
  readonly net = new FakeGrpc({
    clock: this.clock,
    files: this.host.files,
    random: createSeededRandom(1),
  });
  readonly events: EventText[] = [];
  readonly news: PodNews[] = [];
  readonly decisions: Decision[] = [];
  readonly facts = new CellMap<PodUid, PodFact>();
  /** Objects by name. */
  readonly objects = new Map<string, ResourceClaimObject>();
  /** Field selectors of the deletions of slices that were asked for, with their times in seconds. */
  readonly deletions: string[] = [];
  /** What the API server answers a deletion with. */
  deletionError: Error | undefined;
  runtime = { name: "containerd", version: "2.1.0", config: "{}" };
  /** Pods that the runtime has. */
  readonly inRuntime = new Set<PodUid>();
  metrics = new MetricsRegistry();
  #life:
    | { readonly life: Life; readonly process: GrpcProcess; readonly scope: TaskScope }
    | undefined;
  #claims: ResourceClaims | undefined;

  get claims(): ResourceClaims {
    if (!this.#claims) throw new Error("the module is not open");
    return this.#claims;
  }

  /** Starts the agent's module, and its registry of plugins. */
  async open(): Promise<this> {
    const process = this.net.process();
    const life = killable({
      clock: this.clock,
      random: createSeededRandom(2),
      log: silentLog,
      host: this.host,
      cri: { runtime: {}, images: {} } as never,
      net: {} as never,
    });
    const { clock, random } = life.outside;
    const { files } = life.outside.host;
    const scope = new TaskScope("agent", { clock, log: silentLog });
    this.#life = { life, process, scope };
    this.metrics = new MetricsRegistry();
    const common = { grpc: process.grpc, clock, log: silentLog, scope, metrics: this.metrics };
    const claims = new ResourceClaims(
      { file: STATE_FILE, nodeName: "n" },
      {
        ...common,
        random,
        client: this.#client(),
        state: new StateFiles({ files, clock, log: silentLog }),
        decisions: { record: (_, decision) => this.decisions.push(decision) },
        events: { ofPod: (_, event) => this.events.push(event) },
        news: { publish: (news) => this.news.push(news) },
        pods: this.facts,
        runtime: {
          version: async () => ({
            version: "0.1.0",
            runtimeName: this.runtime.name,
            runtimeVersion: this.runtime.version,
            runtimeApiVersion: "v1",
          }),
          describe: async () => ({ config: this.runtime.config }),
        },
        isInRuntime: async (uid) => this.inRuntime.has(uid),
      },
    );
    await this.settled(claims.start());
    startPluginRegistry(REGISTRY, { ...common, files, handlers: { DRAPlugin: claims.drivers } });
    this.#claims = claims;
    return this;
  }

  /** `kill -9` of the agent. */
  kill(): void {
    this.#life?.life.end();
    this.#life?.process.kill();
    this.#claims = undefined;
  }

  /** Ends the agent in an orderly way. */
  async close(): Promise<void> {
    await this.settled(this.#life?.scope[Symbol.asyncDispose]() ?? Promise.resolve());
    this.#life?.process.kill();
    this.#claims = undefined;
  }

  /** A driver process that was started. */
  async driver(
    options: Partial<ClaimDriverOptions> = {},
  ): Promise<{ readonly driver: ClaimDriver; readonly process: GrpcProcess }> {
    const process = this.net.process();
    const name = options.name ?? DRIVER;
    const folder = `/var/lib/kubelet/plugins/${name}`;
    const given = { name, registry: REGISTRY, folder, ...options };
    const driver = new ClaimDriver(process.grpc, given);
    for (const each of [REGISTRY, folder]) await this.host.files.makeDirectory(each, 0o755);
    await this.settled(driver.start());
    await this.clock.advance(3_000);
    return { driver, process };
  }

  /** An allocated claim, reserved for these pods. */
  claim(
    name: string,
    pods: readonly IdentifiedPod[],
    { uid = `${name}-uid`, drivers = [DRIVER] }: { uid?: string; drivers?: readonly string[] } = {},
  ): void {
    this.objects.set(name, {
      metadata: { name, namespace: "default", uid },
      status: {
        allocation: { devices: { results: drivers.map((driver) => ({ driver })) } },
        reservedFor: pods.map(({ metadata }) => ({ uid: metadata.uid })),
      },
    });
  }

  /** Says how far the pod is. */
  lives(pod: IdentifiedPod, life: PodFact["life"] = "running"): void {
    this.facts.set(pod.metadata.uid, aFact(pod, { life }));
  }

  /** Prepares the claims of the pod; resolves when that is done. */
  async prepare(pod: IdentifiedPod, signal = new AbortController().signal): Promise<void> {
    this.lives(pod);
    await this.settled(this.claims.prepare(pod, signal));
  }

  /** Has the pod wait for its claims for some time, and resolves with the last fault that was reported. */
  async fault(pod: IdentifiedPod): Promise<string> {
    this.lives(pod);
    const leave = new AbortController();
    const waits = this.claims.prepare(pod, leave.signal).catch(() => {});
    await this.clock.advance(100);
    leave.abort(new Error("the pod is being ended"));
    await this.settled(waits);
    const { reason, message = "" } = this.events.at(-1) ?? {};
    return reason === "FailedPrepareDynamicResources"
      ? message.replace("Failed to prepare dynamic resources: prepare dynamic resources: ", "")
      : "";
  }

  async unprepare(pod: IdentifiedPod): Promise<void> {
    await this.settled(this.claims.unprepare(pod, new AbortController().signal));
  }

  /** Claims that are held, as `claim(pods) devices`. */
  held(): readonly string[] {
    return [...this.claims.claims.values()].map(
      ({ name, pods, drivers }) =>
        `${name}(${[...pods].join(",")}) ${[...drivers.values()].flat().flatMap(({ cdiIds }) => cdiIds)}`,
    );
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

  #client(): KubeClient {
    const client: Pick<KubeClient, "get" | "deleteAll"> = {
      get: async <T>(kind: Resource<T>, { name = "" }) => {
        if (kind.kind === "Node") return {} as T;
        const object = this.objects.get(name);
        if (!object) throw new OutsideError("notFound", `resourceclaims "${name}" not found`);
        return object as T;
      },
      deleteAll: async (_, { fieldSelector = "" }) => {
        this.deletions.push(`${Math.round(this.clock.monotonic() / 1000)} ${fieldSelector}`);
        if (this.deletionError) throw this.deletionError;
      },
    };
    return client as KubeClient;
  }
}
