/** A driver of dynamic resource allocation to try the agent with; it speaks over whatever gRPC it is given. */
import type { Reading } from "../../src/kit/cell.ts";
import { Cell, until } from "../../src/kit/cell.ts";
import {
  type Grpc,
  type GrpcListener,
  type ServedCall,
  streamCall,
  unaryCall,
} from "../../src/outside/grpc/grpc.ts";
import {
  DRA_HEALTH,
  DRA_PLUGIN,
  type NodePrepareResourcesResponse,
  PLUGIN_REGISTRATION,
} from "../../src/outside/plugins/plugins.ts";

type PreparedEntry = NodePrepareResourcesResponse["claims"][string];
/** A device as the driver returns it. */
export type DriverDevice = PreparedEntry["devices"][number];
/** One device's health as the driver reports it. */
export interface DriverHealth {
  readonly device: string;
  readonly pool?: string;
  readonly health: 0 | 1 | 2;
  readonly message?: string;
  readonly timeoutSeconds?: number;
}

type DriverCall = "prepare" | "unprepare";
interface AskedClaim {
  readonly namespace: string;
  readonly uid: string;
  readonly name: string;
}

/** What the driver is, and how it behaves: a function for every fault. */
export interface ClaimDriverOptions {
  readonly name: string;
  /** Folder of the registry, and where it serves. */
  readonly registry: string;
  readonly folder: string;
  /** Where the agent's root is seen from here; nothing where both see the same. */
  readonly root?: string;
  /** Names of its sockets; several instances of one driver have their own. */
  readonly instance?: string;
  /** What it names when it registers. */
  readonly versions?: readonly string[];
  /** Runs before a call is answered; it may take long, never end, or throw the answer. */
  readonly before?: (call: DriverCall, claims: readonly AskedClaim[]) => Promise<void>;
  /** Devices of a claim. */
  readonly devices?: (claim: AskedClaim) => readonly DriverDevice[];
  /** Error for one claim. */
  readonly error?: (call: DriverCall, claim: AskedClaim) => string;
  /** Rewrites the answer before it is sent; entries by UID. */
  readonly rewrite?: <T>(claims: Record<string, T>) => Record<string, T>;
  /** Answers GetInfo. */
  readonly beforeInfo?: () => Promise<void>;
}

/** Versions that the helper library names. */
const VERSIONS = ["v1.DRAPlugin", "v1beta1.DRAPlugin", "v1alpha1.DRAResourceHealth"] as const;

/** One driver process. */
export class ClaimDriver implements AsyncDisposable {
  readonly options: ClaimDriverOptions;
  readonly #grpc: Grpc;
  readonly #health = new Cell<readonly DriverHealth[]>([]);
  readonly #listeners: GrpcListener[] = [];
  /** Every call in order: `prepare u1 u2`. */
  readonly calls: string[] = [];
  /** Services that were called. */
  readonly services = new Set<string>();
  /** UIDs of claims that are prepared. */
  readonly prepared = new Set<string>();
  /** What the agent said of its registration, in order. */
  readonly statuses: string[] = [];
  /** Streams of health that were begun. */
  watchers = 0;

  constructor(grpc: Grpc, options: ClaimDriverOptions) {
    this.#grpc = grpc;
    this.options = options;
  }

  get socketPath(): string {
    const { folder, instance = "dra" } = this.options;
    return `${folder}/${instance}.sock`;
  }

  /** What is reported of its devices now. */
  get health(): Reading<readonly DriverHealth[]> {
    return this.#health;
  }

  report(...health: readonly DriverHealth[]): void {
    this.#health.set(health);
  }

  /** Begins to serve. */
  async serve(): Promise<void> {
    const { methods } = DRA_PLUGIN;
    const calls = [DRA_PLUGIN.fullName, DRA_PLUGIN.fullName.replace(".v1.", ".v1beta1.")].flatMap(
      (service): readonly ServedCall[] => [
        unaryCall(service, methods.nodePrepareResources, ({ claims }) =>
          this.#answer("prepare", service, claims, (claim) => ({
            error: this.options.error?.("prepare", claim) ?? "",
            devices: [...(this.options.devices ?? defaultDevices)(claim)],
          })),
        ),
        unaryCall(service, methods.nodeUnprepareResources, ({ claims }) =>
          this.#answer("unprepare", service, claims, (claim) => ({
            error: this.options.error?.("unprepare", claim) ?? "",
          })),
        ),
      ],
    );
    const health = [DRA_HEALTH.fullName, DRA_HEALTH.fullName.replace("v1.", "v1alpha1.")].map(
      (service) =>
        streamCall(service, DRA_HEALTH.methods.nodeWatchResources, (_, signal) =>
          this.#reports(signal),
        ),
    );
    await this.#listen(this.socketPath, [...calls, ...health]);
  }

  /** Puts its socket into the registry. */
  async register(): Promise<void> {
    const { name, registry, instance = "dra", versions = VERSIONS } = this.options;
    const { methods, fullName } = PLUGIN_REGISTRATION;
    await this.#listen(`${registry}/${name}-${instance}-reg.sock`, [
      unaryCall(fullName, methods.getInfo, async () => {
        await this.options.beforeInfo?.();
        return {
          type: "DRAPlugin",
          name,
          endpoint: this.socketPath,
          supportedVersions: [...versions],
        };
      }),
      unaryCall(fullName, methods.notifyRegistrationStatus, async (status) => {
        this.statuses.push(status.pluginRegistered ? "registered" : status.error);
        return {};
      }),
    ]);
  }

  async start(): Promise<this> {
    await this.serve();
    await this.register();
    return this;
  }

  /** Ends in an orderly way, its sockets with it; the registration first. */
  async stop(): Promise<void> {
    for (const listener of this.#listeners.splice(0).toReversed()) await listener.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #listen(path: string, calls: readonly ServedCall[]): Promise<void> {
    const { root = "" } = this.options;
    const at = `${root}${path}`;
    this.#listeners.push(await this.#grpc.listen({ path: at, calls, onBroken: () => {} }));
  }

  async #answer<T extends { readonly error: string }>(
    call: DriverCall,
    service: string,
    claims: readonly AskedClaim[],
    entry: (claim: AskedClaim) => T,
  ): Promise<{ claims: Record<string, T> }> {
    const { before, rewrite = (answered) => answered } = this.options;
    this.services.add(service);
    this.calls.push(`${call} ${claims.map(({ uid }) => uid).join(" ")}`);
    await before?.(call, claims);
    const entries = claims.map((claim) => [claim.uid, entry(claim)] as const);
    for (const [uid, { error }] of entries) {
      if (error !== "") continue;
      if (call === "prepare") this.prepared.add(uid);
      else this.prepared.delete(uid);
    }
    return { claims: rewrite(Object.fromEntries(entries)) };
  }

  async *#reports(signal: AbortSignal) {
    this.watchers += 1;
    let last: readonly DriverHealth[] | undefined;
    while (!signal.aborted) {
      const now = this.#health.get();
      if (now === last) {
        await until(this.#health, (next) => next !== last, signal).catch(() => {});
        continue;
      }
      last = now;
      yield {
        devices: now.map(({ device, pool = "pool", health, message = "", timeoutSeconds = 0 }) => ({
          device: { poolName: pool, deviceName: device },
          health,
          lastUpdatedTime: 0n,
          healthCheckTimeoutSeconds: BigInt(timeoutSeconds),
          message,
        })),
      };
    }
  }
}

const defaultDevices = ({ uid }: AskedClaim): readonly DriverDevice[] => [
  {
    requestNames: [],
    poolName: "pool",
    deviceName: `of-${uid}`,
    cdiDeviceIds: [`example.com/device=${uid}`],
  },
];
