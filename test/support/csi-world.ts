/** The modules of volumes with a driver, an API and a controller in memory, on a clock that tests advance. */
import type {
  CSIDriver,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
} from "../../src/api/generated/types.ts";
import type { IdentifiedPod } from "../../src/api/pod-identity.ts";
import type { EvictionCause } from "../../src/api/pod-news.ts";
import { Cell } from "../../src/kit/cell.ts";
import { messageOf } from "../../src/kit/errors.ts";
import { mergePatch } from "../../src/kit/json.ts";
import { silentLog } from "../../src/kit/log.ts";
import { MetricsRegistry } from "../../src/kit/metrics.ts";
import { createSeededRandom } from "../../src/kit/random.ts";
import { TaskScope } from "../../src/kit/scope.ts";
import {
  ApiError,
  type KubeClient,
  type ObjectPlace,
  type Patch,
  type Resource,
  type ServiceAccountTokens,
} from "../../src/outside/kube/kube.ts";
import { Csi } from "../../src/subsystems/csi/csi.ts";
import { attachmentName } from "../../src/subsystems/csi/csi-paths.ts";
import { Volumes } from "../../src/subsystems/volumes/volumes.ts";
import { FakeGrpc, type GrpcProcess } from "../sim/fake-grpc.ts";
import { FakeHost } from "../sim/fake-host.ts";
import { bindAll, killableClock } from "../sim/killable.ts";
import { SimClock } from "../sim/sim-clock.ts";
import { fakeDriverDisk } from "./csi-disk.ts";
import { type CsiDriverOptions, type DriverDisk, TestCsiDriver } from "./csi-driver.ts";
import { ObjectsInMemory } from "./objects-in-memory.ts";
import { volumeReports } from "./volume-reports.ts";

const ROOT = "/r";
/** The driver of these worlds. */
export const DRIVER = "d.csi";
export const SOCKET = "/d/csi.sock";

/** What of a world tests may choose. */
export interface CsiWorldOptions {
  readonly driver?: Partial<CsiDriverOptions>;
  readonly disk?: (host: Pick<FakeHost, "files" | "volumes">) => DriverDisk;
  /** Its object; `undefined`: the cluster has none. */
  readonly object?: CSIDriver["spec"] | undefined;
  /** Whether the controller attaches at once what is in use. */
  readonly attaches?: boolean;
  /** Whether the kernel enforces SELinux. */
  readonly hasSelinux?: boolean;
  /** How long a report of the node's status takes. */
  readonly reportMs?: number;
  /** Notified before everything that agent or driver do to the host, to be killed there. */
  readonly onStep?: (operation: string, path: string) => void;
}

const notFound = () =>
  new ApiError(404, { status: "Failure", message: "not found", reason: "NotFound", code: 404 });

/** A node with CSI in memory. */
export class CsiWorld {
  readonly clock = new SimClock();
  readonly host: FakeHost;
  readonly net: FakeGrpc;
  readonly objects = new ObjectsInMemory();
  readonly node: Cell<Node | undefined>;
  readonly events: string[] = [];
  /** Why pods are to end. */
  readonly ends: EvictionCause[] = [];
  /** What mounting and unmounting threw. */
  readonly problems: string[] = [];
  readonly options: CsiWorldOptions;
  readonly faulty = new Set<string>();
  driver: TestCsiDriver;
  csi!: Csi;
  volumes!: Volumes;
  metrics = new MetricsRegistry();
  #scope!: TaskScope;
  #agent!: GrpcProcess & { isAlive: boolean };
  #driverProcess!: GrpcProcess;
  /** The agent whose heartbeat is at it. */
  #reporting: { readonly isAlive: boolean } | undefined;
  #mustReport = false;

  constructor(options: CsiWorldOptions = {}) {
    this.options = options;
    const { clock } = this;
    this.host = new FakeHost({
      clock,
      fault: (operation, path) => {
        options.onStep?.(operation, path);
        return (this.faulty.has(operation) ? new Error(operation) : undefined) as never;
      },
    });
    this.net = new FakeGrpc({ clock, files: this.host.files, random: createSeededRandom(1) });
    this.node = new Cell<Node | undefined>({ metadata: { name: "node", uid: "node-uid" } });
    this.objects.set("nodes", "node", this.node.get());
    const spec = "object" in options ? options.object : {};
    if (spec) this.setObject(spec);
    this.driver = this.#newDriver();
  }

  /** The driver's object, with what an API server adds. */
  setObject(given: CSIDriver["spec"]): void {
    const spec = { fsGroupPolicy: "ReadWriteOnceWithFSType", ...given };
    this.objects.set("csidrivers", DRIVER, { metadata: { name: DRIVER }, spec });
  }

  /** Starts agent and driver. */
  static async start(options: CsiWorldOptions = {}): Promise<CsiWorld> {
    const world = new CsiWorld(options);
    await world.host.files.makeDirectory("/d", 0o755);
    await world.startAgent();
    await world.startDriver();
    return world;
  }

  async startAgent(): Promise<void> {
    const { host, node } = this;
    const agent = Object.assign(this.net.process(), { isAlive: true });
    this.#agent = agent;
    const isAlive = () => agent.isAlive;
    const clock = killableClock(this.clock, isAlive);
    const [files, volumes] = [bindAll(host.podFiles, isAlive), bindAll(host.volumes, isAlive)];
    this.metrics = new MetricsRegistry();
    this.#scope = new TaskScope("test", { clock, log: silentLog });
    const reports = volumeReports(({ type, reason, message }) =>
      this.events.push(`${type} ${reason}: ${message}`),
    );
    const client = bindAll(this.#client(), isAlive);
    const objects = bindAll(this.objects.source, isAlive);
    const tokens: ServiceAccountTokens = {
      token: async ({ audiences }) => ({
        token: `token for ${audiences.join()}`,
        expiresAt: clock.wall(),
      }),
      forget: () => {},
    };
    this.csi = new Csi(
      {
        root: ROOT,
        nodeName: "node",
        controllerAttaches: true,
        hasSelinux: this.options.hasSelinux ?? false,
      },
      {
        grpc: this.#agent.grpc,
        files,
        volumes,
        clock,
        log: silentLog,
        scope: this.#scope,
        metrics: this.metrics,
        events: reports.events,
        node,
        client,
        objects,
        tokens,
      },
    );
    this.csi.volumes.inUseChanges.subscribe(() => this.#updateStatus());
    await this.csi.start();
    this.#updateStatus();
    this.volumes = new Volumes(
      {
        roots: { root: ROOT, logs: "/l" },
        clusterDomain: "",
        allocatable: { cpuMilli: 1, memoryBytes: 2 ** 30, ephemeralStorageBytes: 2 ** 30 },
      },
      {
        clock,
        objects,
        tokens,
        files,
        volumes,
        metrics: this.metrics,
        nodeLabels: () => ({}),
        csi: this.csi.volumes,
        ...reports,
        news: { publish: (news) => void (news.kind === "evicted" && this.ends.push(news)) },
      },
    );
    this.#scope.spawn("aging", "restart", (signal) => this.volumes.keepFresh(signal));
  }

  /** `kill -9` of the agent. */
  killAgent(): void {
    this.#agent.isAlive = false;
    this.#agent.kill();
    void this.#scope[Symbol.asyncDispose]();
  }

  #newDriver(before?: TestCsiDriver): TestCsiDriver {
    const options = { name: DRIVER, socketPath: SOCKET, ...this.options.driver };
    let made: TestCsiDriver | undefined;
    const isAlive = () => made?.isAlive ?? true;
    const { files, volumes } = this.host;
    const host = { files: bindAll(files, isAlive), volumes: bindAll(volumes, isAlive) };
    made = new TestCsiDriver((this.options.disk ?? fakeDriverDisk)(host), options, before);
    return made;
  }

  /** Starts the driver, after `killDriver` again, and registers it. */
  async startDriver(): Promise<void> {
    await this.listenAgain();
    await this.done(this.csi.plugins.register(this.#plugin()));
  }

  /** Starts the driver, which nobody has registered. */
  async listenAgain(): Promise<void> {
    this.#driverProcess = this.net.process();
    await this.driver.listen(this.#driverProcess.grpc);
  }

  #plugin() {
    return { name: DRIVER, socketPath: SOCKET, versions: ["1.0.0"] };
  }

  /** Registers a driver that runs with an agent that is new. */
  registerAgain(): Promise<void> {
    return this.done(this.csi.plugins.register(this.#plugin()));
  }

  killDriver(): void {
    this.#driverProcess.kill();
    this.driver.die();
    const { calls, violations } = this.driver;
    this.driver = this.#newDriver(this.driver);
    this.driver.calls.push(...calls);
    this.driver.violations.push(...violations);
    this.csi.plugins.deregister(this.#plugin());
  }

  /** Waits for something that needs the clock to go on. */
  async done<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const watched = work.finally(() => {
      isOver = true;
    });
    watched.catch(() => {});
    for (let steps = 0; steps < 1_000 && !isOver; steps += 1) await this.clock.advance(10);
    if (!isOver) throw new Error(`it did not end: ${this.problems.slice(-3).join("; ")}`);
    return await watched;
  }

  /** A volume and its claim, both named `name`. */
  addVolume(name: string, more: VolumeTexts = {}): void {
    const { accessModes = ["ReadWriteOnce"], size = "1Gi", ...spec } = more.pv ?? {};
    const pv: PersistentVolume = {
      metadata: { name },
      spec: {
        accessModes,
        capacity: { storage: size },
        volumeMode: "Filesystem",
        claimRef: { uid: `claim-${name}` },
        csi: { driver: DRIVER, volumeHandle: `h-${name}`, ...more.csi },
        ...spec,
      },
    };
    const claim: PersistentVolumeClaim = {
      metadata: { name, namespace: "default", uid: `claim-${name}` },
      spec: { volumeName: name, accessModes },
      status: { phase: "Bound", capacity: { storage: size }, ...more.status },
    };
    this.objects.set("persistentvolumes", name, pv);
    this.objects.set("persistentvolumeclaims", name, claim);
  }

  volume(name: string): PersistentVolume {
    return this.objects.byPath.get(`persistentvolumes/${name}`) as PersistentVolume;
  }

  claim(name: string): PersistentVolumeClaim {
    return this.objects.byPath.get(`persistentvolumeclaims/${name}`) as PersistentVolumeClaim;
  }

  /** The controller: what is in use is attached, what is not is detached. */
  attach(): void {
    const status = this.node.get()?.status ?? {};
    const names = status.volumesInUse ?? [];
    for (const name of names) {
      const [driver = "", handle = ""] = name.replace("kubernetes.io/csi/", "").split("^");
      this.objects.set("volumeattachments", attachmentName(handle, driver, "node"), {
        spec: { attacher: driver, nodeName: "node", source: {} },
        status: { attached: true, attachmentMetadata: { lun: "1" } },
      });
    }
    this.#setStatus({
      ...status,
      volumesAttached: names.map((name) => ({ name, devicePath: "" })),
    });
  }

  /** The controller: it could not attach the volume. */
  failAttach(
    volume: string,
    attachError: { readonly errorCode: number; readonly message: string },
  ): void {
    this.objects.set("volumeattachments", attachmentName(`h-${volume}`, DRIVER, "node"), {
      spec: { attacher: DRIVER, nodeName: "node", source: {} },
      status: { attached: false, attachError },
    });
  }

  #setStatus(status: NonNullable<Node["status"]>): void {
    const now = { ...this.node.get(), status };
    this.objects.set("nodes", "node", now);
    this.node.set(now);
  }

  /** The heartbeat: one report at a time, which takes a while. */
  #updateStatus(): void {
    this.#mustReport = true;
    if (this.#reporting !== this.#agent) void this.#report(this.#agent);
  }

  async #report(agent: { readonly isAlive: boolean }): Promise<void> {
    this.#reporting = agent;
    while (this.#mustReport && agent.isAlive) {
      this.#mustReport = false;
      const volumesInUse = this.csi.volumesInUse();
      await this.clock.sleep(this.options.reportMs ?? 1, new AbortController().signal);
      // Sent is sent, even by one that has been killed since.
      this.#setStatus({ ...this.node.get()?.status, volumesInUse });
      if (this.options.attaches !== false) this.attach();
    }
    if (this.#reporting === agent) this.#reporting = undefined;
  }

  /** Starts to mount a pod's volumes; aborting the result stops that. */
  mount(pod: IdentifiedPod): { readonly over: Promise<boolean>; stop(): void } {
    const leave = new AbortController();
    const paths = `${ROOT}/pods/${pod.metadata.uid}/volumes`;
    const over = (async () => {
      await this.host.files.makeDirectory(paths, 0o750);
      for (;;) {
        try {
          await this.volumes.mount(pod, leave.signal);
          return true;
        } catch (error) {
          if (leave.signal.aborted) return false;
          this.problems.push(messageOf(error));
          await this.clock.sleep(100, leave.signal).catch(() => {});
        }
      }
    })();
    return { over, stop: () => leave.abort(new Error("stopped")) };
  }

  /** Ends a pod: tries to unmount until that has succeeded. */
  async unmount(pod: IdentifiedPod, signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        await this.volumes.unmount(pod, signal);
        return;
      } catch (error) {
        if (signal.aborted) return;
        this.problems.push(messageOf(error));
        await this.clock.sleep(1, signal).catch(() => {});
      }
    }
  }

  #client(): KubeClient {
    const client = {
      get: async <T>({ plural }: Resource<T>, { name }: ObjectPlace) => {
        const found = this.objects.get(plural, name);
        if (found === undefined) throw notFound();
        return found;
      },
      create: async <T extends { metadata?: { name?: string } }>(
        { plural }: Resource<T>,
        _: ObjectPlace,
        object: T,
      ) => {
        this.objects.set(plural, object.metadata?.name ?? "", object);
        return object;
      },
      update: async <T>({ plural }: Resource<T>, { name = "" }: ObjectPlace, object: T) => {
        this.objects.set(plural, name, object);
        return object;
      },
      patch: async <T>({ plural }: Resource<T>, { name = "" }: ObjectPlace, patch: Patch) => {
        const now = mergePatch(this.objects.byPath.get(`${plural}/${name}`), patch.body);
        this.objects.set(plural, name, now);
        if (plural === "nodes") this.node.set(now as Node);
        return now;
      },
    };
    return client as unknown as KubeClient;
  }
}

/** What of a volume and its claim differs from the usual. */
interface VolumeTexts {
  readonly pv?: Partial<NonNullable<PersistentVolume["spec"]>> & { readonly size?: string };
  readonly csi?: Partial<NonNullable<NonNullable<PersistentVolume["spec"]>["csi"]>>;
  readonly status?: PersistentVolumeClaim["status"];
}
