import type { Clock, MonotonicMs } from "../../../kit/clock.ts";
import type { ConnectAnswer, Net } from "../../../outside/net/net.ts";

/** Where to connect to, for which container. */
export interface ConnectRequest {
  readonly containerId: string;
  readonly host: string;
  readonly port: number;
  readonly timeoutMs: number;
}

interface Connect {
  readonly startedAt: MonotonicMs;
  readonly signal: AbortSignal;
  readonly answer: Promise<ConnectAnswer>;
}

/**
 * A probe joins a connect that began at most this long ago: its own timeout would run out no more than this
 * later.
 */
const JOIN_MS = 25;

/**
 * Connects of TCP probes. Probes of one container that ask for the same at the same moment, as liveness and readiness of
 * one port do, share one: the container sees a single connection, and both get its answer.
 */
export class SharedConnects {
  readonly #net: Pick<Net, "tcpConnect">;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #inProgress = new Map<string, Connect>();

  constructor(net: Pick<Net, "tcpConnect">, clock: Pick<Clock, "monotonic">) {
    this.#net = net;
    this.#clock = clock;
  }

  /** Rejects as `Net.tcpConnect` does; that another probe is stopped, whose connect this one shares, does it no harm. */
  async connect(request: ConnectRequest, signal: AbortSignal): Promise<ConnectAnswer> {
    signal.throwIfAborted();
    const { containerId, host, port, timeoutMs } = request;
    const key = `${containerId} ${timeoutMs} ${port} ${host}`;
    const startedAt = this.#clock.monotonic();
    const other = this.#inProgress.get(key);
    if (other === undefined || startedAt - other.startedAt > JOIN_MS)
      // Awaited, so that it goes on before those that joined it.
      return await this.#start(key, { startedAt, request, signal });
    try {
      return await other.answer;
    } catch (error) {
      if (!other.signal.aborted) throw error;
      return await this.connect(request, signal);
    }
  }

  #start(
    key: string,
    attempt: Pick<Connect, "startedAt" | "signal"> & { readonly request: ConnectRequest },
  ): Promise<ConnectAnswer> {
    const { startedAt, signal, request } = attempt;
    const answer = this.#net.tcpConnect(request.host, request.port, request.timeoutMs, signal);
    const connect: Connect = { startedAt, signal, answer };
    this.#inProgress.set(key, connect);
    const end = () => {
      if (this.#inProgress.get(key) === connect) this.#inProgress.delete(key);
    };
    answer.then(end, end);
    return answer;
  }
}
