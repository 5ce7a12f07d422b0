/** A CSI driver to try the agent with: it speaks over whatever gRPC it is given, and mounts by whatever it is given. */
import {
  GRPC_STATUS,
  type Grpc,
  GrpcError,
  type GrpcListener,
  type ServedCall,
  unaryCall,
} from "../../src/outside/grpc/grpc.ts";
import {
  CSI_CAPABILITY,
  CSI_IDENTITY,
  CSI_NODE,
  CSI_USAGE_UNIT,
  type NodeExpandVolumeRequest,
  type NodePublishVolumeRequest,
  type NodeStageVolumeRequest,
  PLUGIN_REGISTRATION,
} from "../../src/outside/plugins/plugins.ts";

/** How the driver makes its volumes. */
export interface DriverDisk {
  stage(request: NodeStageVolumeRequest): Promise<void>;
  unstage(path: string): Promise<void>;
  /** Makes the target path and mounts there. */
  publish(request: NodePublishVolumeRequest): Promise<void>;
  unpublish(path: string): Promise<void>;
}

/** Names of calls as tests write them. */
export type DriverCall = "Gi" | "C" | "St" | "Us" | "Pb" | "Up" | "Ex" | "stats";

/** How a call is to fail: with a status before or after the work is done, or by no answer at all. */
export type DriverFault =
  | { readonly status: keyof typeof GRPC_STATUS; readonly done?: boolean }
  | "hang";

/** What the driver is. */
export interface CsiDriverOptions {
  readonly name: string;
  readonly socketPath: string;
  readonly nodeId?: string;
  readonly maxVolumes?: number;
  readonly topology?: Readonly<Record<string, string>>;
  /** Default: all but `mountGroup` and `multiWriter`. */
  readonly abilities?: Partial<
    Record<"stages" | "measures" | "expands" | "multiWriter" | "mountGroup", boolean>
  >;
  readonly versions?: readonly string[];
  /** The name that it registers, where that is another one. */
  readonly registeredName?: string;
  /** Knows nothing of what it did before: the disk finds out what is there already. */
  readonly forgetful?: boolean;
  /** What becomes of a call; nothing: it succeeds. */
  readonly fault?: (call: DriverCall, volumeId: string) => DriverFault | undefined;
  /** Notified of each call that begins. */
  readonly onCall?: (call: DriverCall, volumeId: string) => void;
  /** Notified of each call that is done and has not been answered yet. */
  readonly onDone?: (call: DriverCall) => void;
}

interface KnownVolume {
  staged: string | undefined;
  readonly published: Set<string>;
}

const GIB = 1024n ** 3n;

/** One driver process. What it knows of its volumes is what it would have on its disk: it survives `stop`. */
export class TestCsiDriver {
  readonly options: CsiDriverOptions;
  readonly #disk: DriverDisk;
  readonly #volumes: Map<string, KnownVolume>;
  /** Orders that no agent may give: written down as they come. */
  readonly violations: string[] = [];
  readonly calls: string[] = [];
  readonly stages: NodeStageVolumeRequest[] = [];
  readonly publishes: NodePublishVolumeRequest[] = [];
  readonly expansions: NodeExpandVolumeRequest[] = [];
  /** Last answer of the agent to the registration. */
  notified: { readonly registered: boolean; readonly error: string } | undefined;
  #listeners: GrpcListener[] = [];
  #isDead = false;

  constructor(disk: DriverDisk, options: CsiDriverOptions, before?: TestCsiDriver) {
    this.options = options;
    this.#disk = disk;
    this.#volumes = before ? before.#volumes : new Map();
  }

  /** Identifiers of all volumes it was asked for. */
  get known(): readonly string[] {
    return [...this.#volumes.keys()];
  }

  /** Paths that are staged or published now. */
  get present(): readonly string[] {
    return [...this.#volumes].flatMap(([id, { staged, published }]) => [
      ...(staged === undefined ? [] : [`staged ${id}`]),
      ...[...published].map((path) => `published ${id} ${path}`),
    ]);
  }

  /** Listens for calls. */
  async listen(grpc: Grpc): Promise<void> {
    const { socketPath } = this.options;
    const listener = await grpc.listen({
      path: socketPath,
      calls: [...this.#identity(), ...this.#node()],
      onBroken: () => {},
    });
    this.#listeners.push(listener);
  }

  /** Puts a socket into the registry folder, as the registrar beside a driver does. */
  async register(grpc: Grpc, folder: string): Promise<void> {
    const { name, registeredName = name, socketPath, versions = ["1.0.0"] } = this.options;
    const { methods, fullName } = PLUGIN_REGISTRATION;
    this.#listeners.push(
      await grpc.listen({
        path: `${folder}/${name}-reg.sock`,
        onBroken: () => {},
        calls: [
          unaryCall(fullName, methods.getInfo, async () => ({
            type: "CSIPlugin",
            name: registeredName,
            endpoint: socketPath,
            supportedVersions: [...versions],
          })),
          unaryCall(fullName, methods.notifyRegistrationStatus, async (said) => {
            this.notified = { registered: said.pluginRegistered, error: said.error };
            return {};
          }),
        ],
      }),
    );
  }

  get isAlive(): boolean {
    return !this.#isDead;
  }

  /** `kill -9`: it begins nothing and answers nothing any more. */
  die(): void {
    this.#isDead = true;
  }

  /** Ends in an orderly way: its sockets go. */
  async stop(): Promise<void> {
    for (const listener of this.#listeners.splice(0)) await listener.close();
  }

  #identity(): ServedCall[] {
    const { fullName, methods } = CSI_IDENTITY;
    return [
      unaryCall(fullName, methods.getPluginInfo, async () => ({
        name: this.options.name,
        vendorVersion: "1",
        manifest: {},
      })),
      unaryCall(fullName, methods.probe, async () => ({ ready: { value: true } })),
    ];
  }

  #node(): ServedCall[] {
    const { fullName, methods } = CSI_NODE;
    return [
      unaryCall(fullName, methods.nodeGetInfo, (_, signal) =>
        this.#answer("Gi", "", signal, async () => {
          const { nodeId = "node", maxVolumes = 0, topology } = this.options;
          return {
            nodeId,
            maxVolumesPerNode: BigInt(maxVolumes),
            accessibleTopology: topology && { segments: { ...topology } },
          };
        }),
      ),
      unaryCall(fullName, methods.nodeGetCapabilities, (_, signal) =>
        this.#answer("C", "", signal, async () => ({ capabilities: this.#capabilities() })),
      ),
      ...this.#staging(),
      ...this.#publishing(),
      unaryCall(fullName, methods.nodeExpandVolume, (request, signal) =>
        this.#answer("Ex", request.volumeId, signal, async () => {
          this.expansions.push(request);
          return { capacityBytes: request.capacityRange?.requiredBytes ?? 0n };
        }),
      ),
      unaryCall(fullName, methods.nodeGetVolumeStats, ({ volumeId }, signal) =>
        this.#answer("stats", volumeId, signal, async () => ({
          usage: [
            { available: GIB, total: 3n * GIB, used: 2n * GIB, unit: CSI_USAGE_UNIT.BYTES },
            { available: 10n, total: 30n, used: 20n, unit: CSI_USAGE_UNIT.INODES },
          ],
          volumeCondition: undefined,
        })),
      ),
    ];
  }

  #staging(): ServedCall[] {
    const { fullName, methods } = CSI_NODE;
    return [
      unaryCall(fullName, methods.nodeStageVolume, (request, signal) =>
        this.#answer("St", request.volumeId, signal, async () => {
          this.stages.push(request);
          const volume = this.#volume(request.volumeId);
          const path = request.stagingTargetPath;
          if (volume.staged !== undefined && volume.staged !== path)
            this.violations.push(`${request.volumeId} staged at ${path} and ${volume.staged}`);
          if (volume.staged === undefined) await this.#disk.stage(request);
          volume.staged = path;
          return {};
        }),
      ),
      unaryCall(fullName, methods.nodeUnstageVolume, ({ volumeId, stagingTargetPath }, signal) =>
        this.#answer("Us", volumeId, signal, async () => {
          const volume = this.#volume(volumeId);
          if (volume.published.size > 0)
            this.violations.push(
              `${volumeId} unstaged while ${[...volume.published]} is published`,
            );
          const { forgetful = false } = this.options;
          if (forgetful || volume.staged !== undefined) await this.#disk.unstage(stagingTargetPath);
          volume.staged = undefined;
          return {};
        }),
      ),
    ];
  }

  #publishing(): ServedCall[] {
    const { fullName, methods } = CSI_NODE;
    return [
      unaryCall(fullName, methods.nodePublishVolume, (request, signal) =>
        this.#answer("Pb", request.volumeId, signal, async () => {
          this.publishes.push(request);
          const volume = this.#volume(request.volumeId);
          const { stagingTargetPath: staging, targetPath } = request;
          const { forgetful = false } = this.options;
          if (!forgetful && staging !== "" && volume.staged !== staging)
            throw new GrpcError(
              GRPC_STATUS.FailedPrecondition,
              `${request.volumeId} is not staged`,
            );
          if (!volume.published.has(targetPath)) await this.#disk.publish(request);
          volume.published.add(targetPath);
          return {};
        }),
      ),
      unaryCall(fullName, methods.nodeUnpublishVolume, ({ volumeId, targetPath }, signal) =>
        this.#answer("Up", volumeId, signal, async () => {
          const volume = this.#volume(volumeId);
          const { forgetful = false } = this.options;
          if (forgetful || volume.published.has(targetPath)) await this.#disk.unpublish(targetPath);
          volume.published.delete(targetPath);
          return {};
        }),
      ),
    ];
  }

  #capabilities() {
    const { stages = true, measures = true, expands = true } = this.options.abilities ?? {};
    const { multiWriter = false, mountGroup = false } = this.options.abilities ?? {};
    const types = [
      ...(stages ? [CSI_CAPABILITY.STAGE_UNSTAGE_VOLUME] : []),
      ...(measures ? [CSI_CAPABILITY.GET_VOLUME_STATS] : []),
      ...(expands ? [CSI_CAPABILITY.EXPAND_VOLUME] : []),
      ...(multiWriter ? [CSI_CAPABILITY.SINGLE_NODE_MULTI_WRITER] : []),
      ...(mountGroup ? [CSI_CAPABILITY.VOLUME_MOUNT_GROUP] : []),
    ];
    return types.map((type) => ({ type: { $case: "rpc" as const, value: { type } } }));
  }

  #volume(id: string): KnownVolume {
    const known = this.#volumes.get(id);
    if (known) return known;
    const made = { staged: undefined, published: new Set<string>() };
    this.#volumes.set(id, made);
    return made;
  }

  async #answer<T>(
    call: DriverCall,
    volumeId: string,
    signal: AbortSignal,
    act: () => Promise<T>,
  ): Promise<T> {
    if (call !== "C") this.calls.push(call);
    this.options.onCall?.(call, volumeId);
    const fault = this.options.fault?.(call, volumeId);
    if (this.#isDead || fault === "hang") return await untilGivenUp(signal);
    if (fault && !fault.done) throw new GrpcError(GRPC_STATUS[fault.status], "as the test asks");
    const answer = await act();
    this.options.onDone?.(call);
    if (this.#isDead) return await untilGivenUp(signal);
    if (fault) throw new GrpcError(GRPC_STATUS[fault.status], "as the test asks");
    return answer;
  }
}

function untilGivenUp(signal: AbortSignal): Promise<never> {
  return new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
