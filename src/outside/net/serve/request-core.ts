/**
 * Request handling that our HTTP servers share: limits, parsing of the target, streams, error replies,
 * the log. A server adds routes, authorization and the form of its errors.
 */
import { isOutside, messageOf } from "../../../kit/errors.ts";
import type { Log } from "../../../kit/log.ts";
import type { TaskScope } from "../../../kit/scope.ts";
import type {
  Exchange,
  HttpListener,
  Listen,
  ListenAddress,
  ListenLimits,
  ListenOptions,
  ListenProblem,
  ReplyHeaders,
} from "./listen.ts";
import { OwnTurns } from "./own-turn.ts";
import { parseTarget, pathPart, type RequestTarget } from "./request-target.ts";

/** Limits of a listener, as the Go kubelet and the API server have them where they have any. */
export const HTTP_LIMITS: ListenLimits = {
  headerBytes: 1024 * 1024,
  headerMs: 30_000,
  requestMs: 60_000,
  handshakeMs: 10_000,
  idleMs: 90_000,
  stalledMs: 120_000,
  connections: 4096,
};

/** Verbosity at which requests are logged. */
const LOG_VERBOSITY = 4;
/** A path as it is logged. */
const LOGGED_PATH_LENGTH = 512;
/** Maximum concurrent streaming responses of one server. */
const MAX_LONG_RUNNING = 500;

/** A request whose route was looked up. */
export interface RoutedRequest<Route> {
  readonly exchange: Exchange;
  /** `undefined` when it is no path. */
  readonly target: RequestTarget | undefined;
  readonly route: Route;
}

/** The answer in place of one that cannot be given. */
export interface ErrorReply {
  readonly status: number;
  readonly headers: ReplyHeaders;
  readonly body: string;
}

/** Settings of one server. */
export interface RequestService<Route, Caller> {
  /** Method and target of a request. */
  match(method: string, target: RequestTarget | undefined): Route;
  /** Whether the caller may switch protocols. */
  mayUpgrade(route: Route): boolean;
  /** Whether it is answered for as long as the caller likes. */
  isLongRunning(route: Route): boolean;
  /** Whether it is answered before others that wait: a health check. */
  isUrgent?(route: Route): boolean;
  /** Called for every request; the result is called at its end. */
  begin?(request: RoutedRequest<Route>): () => void;
  /** The caller, once it is known who that is and that they may. Throws a refusal. */
  admit(request: RoutedRequest<Route>): Promise<Caller>;
  /** Answers. May throw a refusal as long as nothing was answered. */
  answer(request: RoutedRequest<Route>, caller: Caller): Promise<void>;
  /** The reply to a refusal; `undefined` for any other error. */
  refusal(error: unknown): ErrorReply | undefined;
  /** The reply to a request that fails for no fault of the caller; without a message the cause is not shown. */
  failure(status: 429 | 500, message: string | undefined): ErrorReply;
}

/** Answers the requests of one listener. */
class RequestCore<Route, Caller> {
  readonly #service: RequestService<Route, Caller>;
  readonly #log: Log;
  readonly #turns = new OwnTurns();
  #longRunning = 0;

  constructor(service: RequestService<Route, Caller>, log: Log) {
    this.#service = service;
    this.#log = log;
  }

  /** Whether a request may switch protocols: only where a route is for that. */
  mayUpgrade(method: string, target: string): boolean {
    const parsed = parseTarget(target);
    return parsed !== undefined && this.#service.mayUpgrade(this.#service.match(method, parsed));
  }

  /** Rejects only with what the listener is to cut the connection for: an error after the answer had begun. */
  async answer(exchange: Exchange): Promise<void> {
    const target = parseTarget(exchange.target);
    const route = this.#service.match(exchange.method, target);
    const request = { exchange, target, route };
    const end = this.#service.begin?.(request);
    try {
      await this.#answer(request);
    } catch (error) {
      await this.#answerError(exchange, error);
    } finally {
      end?.();
      this.#logRequest(exchange);
    }
  }

  /** Reports peers that do not speak HTTP, and internal errors. */
  onProblem({ kind, peer, error }: ListenProblem): void {
    if (kind === "answer") this.#log.error("failed to serve a request", { peer, error });
    else this.#log.verbose(LOG_VERBOSITY, "connection rejected", { peer, kind, error });
  }

  async #answer(request: RoutedRequest<Route>): Promise<void> {
    const caller = await this.#service.admit(request);
    await this.#turns.next(this.#service.isUrgent?.(request.route));
    if (!this.#service.isLongRunning(request.route))
      return await this.#service.answer(request, caller);
    if (this.#longRunning >= MAX_LONG_RUNNING)
      return await reply(request.exchange, this.#service.failure(429, "too many open streams"));
    this.#longRunning += 1;
    try {
      await this.#service.answer(request, caller);
    } finally {
      this.#longRunning -= 1;
    }
  }

  async #answerError(exchange: Exchange, error: unknown): Promise<void> {
    if (exchange.signal.aborted) return;
    if (exchange.status !== undefined) throw error;
    const refusal = this.#service.refusal(error);
    if (refusal) return await reply(exchange, refusal);
    if (!isOutside(error, "aborted"))
      this.onProblem({ kind: "answer", peer: exchange.peer, error });
    const message = isOutside(error) ? messageOf(error) : undefined;
    await reply(exchange, this.#service.failure(500, message));
  }

  #logRequest({ method, target, peer, status }: Exchange): void {
    if (!this.#log.enabled(LOG_VERBOSITY)) return;
    const path = pathPart(target).slice(0, LOGGED_PATH_LENGTH);
    this.#log.verbose(LOG_VERBOSITY, "HTTP", { method, path, peer, status });
  }
}

function reply(exchange: Exchange, { status, headers, body }: ErrorReply): Promise<void> {
  return exchange.reply(status, headers, body);
}

/** Addresses of a server and settings that differ from the defaults. */
export interface ServeOptions extends Pick<ListenOptions, "tls" | "http2" | "forHealthChecks"> {
  /** The first on which no other process listens. */
  readonly addresses: readonly [ListenAddress, ...ListenAddress[]];
  /** In place of those of `HTTP_LIMITS`. */
  readonly limits?: Partial<ListenLimits>;
}

interface ServingDeps {
  readonly listen: Listen;
  /** Closing it closes the listener. */
  readonly scope: TaskScope;
  readonly log: Log;
}

/** Answers requests with `service`. Throws `OutsideError` "alreadyExists" when another program listens on all addresses. */
export async function serveRequests<Route, Caller>(
  service: RequestService<Route, Caller>,
  options: ServeOptions,
  { listen, scope, log }: ServingDeps,
): Promise<HttpListener> {
  const { addresses, tls, http2, limits, forHealthChecks } = options;
  const core = new RequestCore(service, log);
  const listener = await listenOnFirst(addresses, (address) =>
    listen({
      address,
      limits: { ...HTTP_LIMITS, ...limits },
      ...(tls ? { tls } : {}),
      ...(http2 === undefined ? {} : { http2 }),
      ...(forHealthChecks === undefined ? {} : { forHealthChecks }),
      mayUpgrade: (method, target) => core.mayUpgrade(method, target),
      onExchange: (exchange) => core.answer(exchange),
      onProblem: (problem) => core.onProblem(problem),
    }),
  );
  try {
    scope.defer("listener", async () => {
      await listener[Symbol.asyncDispose]();
    });
  } catch (error) {
    await listener[Symbol.asyncDispose]();
    throw error;
  }
  return listener;
}

async function listenOnFirst(
  [address, ...others]: ServeOptions["addresses"],
  listenOn: (address: ListenAddress) => Promise<HttpListener>,
): Promise<HttpListener> {
  try {
    return await listenOn(address);
  } catch (error) {
    const [next, ...rest] = others;
    if (next === undefined || !isOutside(error, "alreadyExists")) throw error;
    return await listenOnFirst([next, ...rest], listenOn);
  }
}
