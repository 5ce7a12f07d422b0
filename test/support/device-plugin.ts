/** A device plugin to try the agent with; it speaks over whatever gRPC it is given. */
import { Cell, until } from "../../src/kit/cell.ts";
import {
  type Grpc,
  type GrpcChannel,
  type GrpcListener,
  streamCall,
  unaryCall,
} from "../../src/outside/grpc/grpc.ts";
import {
  ContainerAllocateResponse,
  DEVICE_PLUGIN,
  DEVICE_REGISTRATION,
  type Device,
} from "../../src/outside/plugins/plugins.ts";

/** A device as a test writes it. */
export interface TestDevice {
  readonly id: string;
  readonly healthy?: boolean;
  readonly nodes?: readonly number[];
}

/** What the plugin is, and how it behaves. */
export interface TestPluginOptions {
  readonly resource: string;
  /** Name of its socket in the folder. */
  readonly socketName: string;
  readonly folder: string;
  readonly preStart?: boolean;
  /** Chooses; the plugin has no preference when left out. */
  readonly prefer?: (available: readonly string[], amount: number) => readonly string[];
  /** What a container with the devices gets. */
  readonly answer?: (ids: readonly string[]) => Partial<ContainerAllocateResponse>;
  /** Runs before an answer is given; what it throws is the answer. */
  readonly before?: (
    call: "options" | "allocate" | "prefer" | "preStart",
    ids: readonly string[],
  ) => Promise<void>;
  /** Called when a stream of devices has ended, whoever ended it. */
  readonly onUnwatched?: () => void;
  /** Rewrites a list before it is sent. */
  readonly raw?: (devices: readonly Device[]) => readonly Device[];
}

const REGISTER_MS = 12_000;

/** One plugin process. */
export class TestPlugin {
  readonly options: TestPluginOptions;
  readonly #grpc: Grpc;
  readonly #devices: Cell<readonly TestDevice[]>;
  readonly #ending = new AbortController();
  #listener: GrpcListener | undefined;
  #channel: GrpcChannel | undefined;
  /** Ids of every Allocate that was asked for, in order. */
  readonly allocated: (readonly string[])[] = [];
  readonly preStarted: (readonly string[])[] = [];
  /** Streams of devices that were begun. */
  watchers = 0;

  constructor(grpc: Grpc, options: TestPluginOptions, devices: readonly TestDevice[]) {
    this.#grpc = grpc;
    this.options = options;
    this.#devices = new Cell(devices);
  }

  get devices(): readonly TestDevice[] {
    return this.#devices.get();
  }

  /** Sends a new list to everybody who watches. */
  set devices(devices: readonly TestDevice[]) {
    this.#devices.set(devices);
  }

  setHealth(id: string, healthy: boolean): void {
    this.devices = this.devices.map((each) => (each.id === id ? { ...each, healthy } : each));
  }

  /** Begins to listen. */
  async listen(): Promise<void> {
    const { folder, socketName, before = async () => {} } = this.options;
    const { methods, fullName } = DEVICE_PLUGIN;
    this.#listener = await this.#grpc.listen({
      path: `${folder}/${socketName}`,
      onBroken: () => {},
      calls: [
        unaryCall(fullName, methods.getDevicePluginOptions, async () => {
          await before("options", []);
          return {
            preStartRequired: this.options.preStart === true,
            getPreferredAllocationAvailable: this.options.prefer !== undefined,
          };
        }),
        streamCall(fullName, methods.listAndWatch, (_, signal) => this.#lists(signal)),
        unaryCall(fullName, methods.allocate, async ({ containerRequests }) => {
          const requests = containerRequests.map(({ devicesIds }) => devicesIds);
          this.allocated.push(...requests);
          for (const ids of requests) await before("allocate", ids);
          return { containerResponses: requests.map((ids) => this.#answerTo(ids)) };
        }),
        unaryCall(fullName, methods.getPreferredAllocation, async ({ containerRequests }) => {
          const { prefer } = this.options;
          await before("prefer", []);
          return {
            containerResponses: containerRequests.map((asked) => ({
              deviceIDs: [...(prefer?.(asked.availableDeviceIDs, asked.allocationSize) ?? [])],
            })),
          };
        }),
        unaryCall(fullName, methods.preStartContainer, async ({ devicesIds }) => {
          this.preStarted.push(devicesIds);
          await before("preStart", devicesIds);
          return {};
        }),
      ],
    });
  }

  /** Says to the agent that it is there; rejects with what the agent says. */
  async register(more: { readonly version?: string } = {}): Promise<void> {
    const { folder, resource, socketName } = this.options;
    this.#channel?.close();
    this.#channel = this.#grpc.connect({ target: `unix://${folder}/kubelet.sock` });
    await until(this.#channel.state, (link) => link === "ready", this.#ending.signal);
    await this.#channel.unary(
      DEVICE_REGISTRATION.methods.register,
      DEVICE_REGISTRATION.fullName,
      {
        version: more.version ?? "v1beta1",
        endpoint: socketName,
        resourceName: resource,
        options: undefined,
      },
      { signal: this.#ending.signal, timeoutMs: REGISTER_MS },
    );
  }

  async start(): Promise<this> {
    await this.listen();
    await this.register();
    return this;
  }

  /** Ends in an orderly way, its socket with it. */
  async stop(): Promise<void> {
    this.#ending.abort(new Error("the plugin ends"));
    this.#channel?.close();
    await this.#listener?.close();
  }

  #answerTo(ids: readonly string[]): ContainerAllocateResponse {
    const { answer = () => ({}) } = this.options;
    return { ...ContainerAllocateResponse.decode(new Uint8Array()), ...answer(ids) };
  }

  async *#lists(signal: AbortSignal): AsyncGenerator<{ devices: Device[] }> {
    const { raw = (devices) => devices } = this.options;
    this.watchers += 1;
    let last: readonly TestDevice[] | undefined;
    try {
      while (!signal.aborted) {
        const now = this.#devices.get();
        if (now !== last) {
          last = now;
          yield { devices: [...raw(now.map(encodedDevice))] };
        } else await until(this.#devices, (next) => next !== last, signal).catch(() => {});
      }
    } finally {
      this.options.onUnwatched?.();
    }
  }
}

function encodedDevice({ id, healthy = true, nodes }: TestDevice): Device {
  return {
    ID: id,
    health: healthy ? "Healthy" : "Unhealthy",
    topology: nodes && { nodes: nodes.map((node) => ({ ID: BigInt(node) })) },
  };
}
