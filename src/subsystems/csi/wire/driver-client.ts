import { METRICS } from "../../../api/metrics/metrics.ts";
import type { Clock, MonotonicMs } from "../../../kit/clock.ts";
import type { MetricsRegistry } from "../../../kit/metrics.ts";
import {
  GRPC_STATUS,
  type Grpc,
  GrpcError,
  type GrpcMethod,
  grpcStatusName,
} from "../../../outside/grpc/grpc.ts";
import { CSI_CAPABILITY, CSI_NODE } from "../../../outside/plugins/plugins.ts";

/** How long one step on a volume may take, with all its calls (csi_plugin.go csiTimeout). */
const STEP_MS = 120_000;

/** A step on a volume: all its calls share one deadline. */
export interface CsiStep {
  readonly signal: AbortSignal;
  readonly endsAt: MonotonicMs;
}

/** A step that begins now. */
export function beginStep(clock: Pick<Clock, "monotonic">, signal: AbortSignal): CsiStep {
  return { signal, endsAt: (clock.monotonic() + STEP_MS) as MonotonicMs };
}

/** What the node's part of a driver can do. */
export interface DriverAbilities {
  readonly stages: boolean;
  readonly measures: boolean;
  readonly expands: boolean;
  /** Access by several pods of one node is a mode of its own. */
  readonly multiWriter: boolean;
  /** It gives the volume to the pod's group itself. */
  readonly mountGroup: boolean;
}

/** Calls of one driver. */
export interface DriverCalls {
  readonly abilities: (step: CsiStep) => Promise<DriverAbilities>;
  /** Throws `GrpcError`. */
  call<Request, Response>(
    method: GrpcMethod<Request, Response>,
    request: NoInfer<Request>,
    step: CsiStep,
  ): Promise<Response>;
}

/** Calls the node's part of drivers and measures that. */
export class DriverClient {
  readonly #deps: { readonly grpc: Grpc; readonly clock: Clock };
  readonly #measure: (driver: string, method: string, error: unknown, seconds: number) => void;

  constructor(deps: {
    readonly grpc: Grpc;
    readonly clock: Clock;
    readonly metrics: MetricsRegistry;
  }) {
    this.#deps = deps;
    const calls = deps.metrics.histogram(METRICS.csi_operations_seconds);
    this.#measure = (driver_name, method, error, seconds) =>
      calls.observe(seconds, {
        driver_name,
        method_name: `/${CSI_NODE.fullName}/${method}`,
        grpc_status_code:
          error === undefined || error instanceof GrpcError
            ? grpcStatusName(error)
            : "unknown-non-grpc",
        migrated: "false",
      });
  }

  /** The calls of the driver behind a socket. */
  of(driver: string, socketPath: string): DriverCalls {
    const call: DriverCalls["call"] = (method, request, step) =>
      this.#call({ driver, socketPath }, method, request, step);
    return {
      call,
      abilities: async (step) => {
        const { capabilities } = await call(CSI_NODE.methods.nodeGetCapabilities, {}, step);
        const types = new Set(
          capabilities.map(({ type }) => (type?.$case === "rpc" ? type.value.type : undefined)),
        );
        return {
          stages: types.has(CSI_CAPABILITY.STAGE_UNSTAGE_VOLUME),
          measures: types.has(CSI_CAPABILITY.GET_VOLUME_STATS),
          expands: types.has(CSI_CAPABILITY.EXPAND_VOLUME),
          multiWriter: types.has(CSI_CAPABILITY.SINGLE_NODE_MULTI_WRITER),
          mountGroup: types.has(CSI_CAPABILITY.VOLUME_MOUNT_GROUP),
        };
      },
    };
  }

  /** Over a connection of its own: a driver may have been restarted since the last call. */
  async #call<Request, Response>(
    { driver, socketPath }: { readonly driver: string; readonly socketPath: string },
    method: GrpcMethod<Request, Response>,
    request: NoInfer<Request>,
    { signal, endsAt }: CsiStep,
  ): Promise<Response> {
    const { grpc, clock } = this.#deps;
    const began = clock.monotonic();
    const channel = grpc.connect({ target: `unix://${socketPath}` });
    let failure: unknown;
    try {
      const timeoutMs = endsAt - began;
      if (timeoutMs <= 0)
        throw new GrpcError(GRPC_STATUS.DeadlineExceeded, "context deadline exceeded");
      return await channel.unary(method, CSI_NODE.fullName, request, { signal, timeoutMs });
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      channel.close();
      this.#measure(driver, method.name, failure, (clock.monotonic() - began) / 1000);
    }
  }
}
