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
  readonly answer: ConnectAnswer | Promise<ConnectAnswer>;
}

/**
 * A probe joins a connect that began at most this long ago: its own timeout would run out no more than this
 * later.
 */
const JOIN_MS = 25;

/** Callbacks added to it run as microtasks: when all turns that came together are over. */
const TURN_OVER = Promise.resolve();

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

  /**
   * Answers, throws and rejects as `Net.tcpConnect` does. An answer that was known at once is shared until the present turn is
   * over. That another probe is stopped, whose connect this one shares, does it no harm.
   */
  connect(request: ConnectRequest, signal: AbortSignal): ConnectAnswer | Promise<ConnectAnswer> {
    signal.throwIfAborted();
    const { containerId, host, port, timeoutMs } = request;
    const key = `${containerId} ${timeoutMs} ${port} ${host}`;
    const startedAt = this.#clock.monotonic();
    const other = this.#inProgress.get(key);
    if (other === undefined || startedAt - other.startedAt > JOIN_MS)
      return this.#start(key, { startedAt, request, signal });
    return other.answer instanceof Promise ? this.#join(other, request, signal) : other.answer;
  }

  async #join(
    other: Connect,
    request: ConnectRequest,
    signal: AbortSignal,
  ): Promise<ConnectAnswer> {
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
  ): ConnectAnswer | Promise<ConnectAnswer> {
    const { startedAt, signal, request } = attempt;
    const answer = this.#net.tcpConnect(request.host, request.port, request.timeoutMs, signal);
    const connect: Connect = { startedAt, signal, answer };
    this.#inProgress.set(key, connect);
    const end = () => {
      if (this.#inProgress.get(key) === connect) this.#inProgress.delete(key);
    };
    if (answer instanceof Promise) answer.then(end, end);
    else void TURN_OVER.then(end);
    return answer;
  }
}
