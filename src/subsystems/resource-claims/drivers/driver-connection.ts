/** One connection to one instance of a driver, from its registration until it is taken back. */
import { METRICS } from "../../../api/metrics/metrics.ts";
import type { Reading } from "../../../kit/cell.ts";
import type { Clock } from "../../../kit/clock.ts";
import { OutsideError } from "../../../kit/errors.ts";
import type { Histogram, MetricsRegistry } from "../../../kit/metrics.ts";
import { onAbort } from "../../../kit/on-abort.ts";
import {
  type Grpc,
  type GrpcChannel,
  type GrpcLink,
  type GrpcMethod,
  grpcStatusName,
} from "../../../outside/grpc/grpc.ts";
import {
  DRA_HEALTH,
  DRA_PLUGIN,
  type NodePrepareResourcesResponse,
  type NodeUnprepareResourcesResponse,
  type NodeWatchResourcesResponse,
} from "../../../outside/plugins/plugins.ts";
import type { DriverServices } from "./driver-services.ts";

/** A claim as drivers know it; they read everything else from its object. */
export interface CalledClaim {
  readonly namespace: string;
  readonly uid: string;
  readonly name: string;
}

/** Where an instance of a driver serves, and what. */
interface DriverTarget {
  readonly driver: string;
  readonly socketPath: string;
  readonly services: DriverServices;
}

interface DriverConnectionDeps {
  readonly grpc: Grpc;
  readonly clock: Clock;
  readonly calls: DriverCallSeconds;
}

/** Time of calls by driver, method and status. */
type DriverCallSeconds = Histogram<"driver_name" | "method_name" | "grpc_status_code">;

/** The metric of calls to drivers. */
export const driverCallSeconds = (metrics: MetricsRegistry): DriverCallSeconds =>
  metrics.histogram(METRICS.dra_grpc_operations_duration_seconds);

/** How long a driver may take for one call (PluginClientTimeout). */
const CALL_MS = 45_000;

/** The connection; see above. */
export class DriverConnection {
  readonly target: DriverTarget;
  readonly #deps: DriverConnectionDeps;
  readonly #channel: GrpcChannel;
  readonly #closed = new AbortController();

  constructor(target: DriverTarget, deps: DriverConnectionDeps) {
    this.target = target;
    this.#deps = deps;
    this.#channel = deps.grpc.connect({ target: `unix://${target.socketPath}` });
  }

  /** Whether the driver answers there. */
  get link(): Reading<GrpcLink> {
    return this.#channel.state;
  }

  /** Aborted when the connection is closed. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  prepare(
    claims: readonly CalledClaim[],
    signal: AbortSignal,
  ): Promise<NodePrepareResourcesResponse> {
    return this.#call(DRA_PLUGIN.methods.nodePrepareResources, { claims: [...claims] }, signal);
  }

  unprepare(
    claims: readonly CalledClaim[],
    signal: AbortSignal,
  ): Promise<NodeUnprepareResourcesResponse> {
    return this.#call(DRA_PLUGIN.methods.nodeUnprepareResources, { claims: [...claims] }, signal);
  }

  /** What the driver reports of the health of its devices, until it ends that or the connection is closed. */
  watchHealth(service: string): AsyncIterable<NodeWatchResourcesResponse> {
    const { nodeWatchResources } = DRA_HEALTH.methods;
    return this.#channel.serverStream(nodeWatchResources, service, {}, { signal: this.closed });
  }

  /** Ends the connection; calls under way end with it. */
  close(): void {
    const { driver } = this.target;
    this.#closed.abort(new OutsideError("aborted", `DRA driver ${driver} was deregistered`));
    this.#channel.close();
  }

  async #call<Request, Response>(
    method: GrpcMethod<Request, Response>,
    request: NoInfer<Request>,
    signal: AbortSignal,
  ): Promise<Response> {
    const { clock, calls } = this.#deps;
    const { driver, services } = this.target;
    const began = clock.monotonic();
    const ended = (error?: unknown) =>
      calls.observe((clock.monotonic() - began) / 1000, {
        driver_name: driver,
        method_name: `/${services.plugin}/${method.name}`,
        grpc_status_code: signal.aborted ? "Canceled" : grpcStatusName(error),
      });
    const either = new AbortController();
    const stops = [signal, this.closed].map((source) =>
      onAbort(source, () => either.abort(source.reason)),
    );
    try {
      for (const source of [signal, this.closed]) source.throwIfAborted();
      const options = { signal: either.signal, timeoutMs: CALL_MS };
      const response = await this.#channel.unary(method, services.plugin, request, options);
      ended();
      return response;
    } catch (error) {
      ended(error);
      throw error;
    } finally {
      for (const stop of stops) stop();
    }
  }
}
