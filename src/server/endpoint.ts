import { isOutside, messageOf } from "../kit/errors.ts";
import type { Log } from "../kit/log.ts";
import type { Exchange, ListenProblem } from "../outside/serving.ts";
import {
  ALL_AUTHENTICATED,
  type Authenticator,
  bearerTokenOf,
  type Identity,
} from "./access/authenticate.ts";
import { type Authorizer, decideAccess } from "./access/authorize.ts";
import { type Call, replyText, type ServedRoute, TEXT_HEADERS } from "./call.ts";
import { type HttpMetrics, methodLabel } from "./http-metrics.ts";
import { HttpProblem } from "./http-problem.ts";
import { type Endpoint, matchRoute, parseTarget, type RouteMatch, routeLabel } from "./routes.ts";

/** Access to an endpoint: one identity for all clients, or authentication. */
export type CallerAdmission =
  | { readonly kind: "everybody"; readonly identity: Identity }
  | {
      readonly kind: "checked";
      readonly authenticator: Authenticator;
      readonly authorizer: Authorizer;
      readonly nodeName: string;
    };

/** Options of one endpoint of the server. */
export interface EndpointOptions {
  readonly endpoint: Endpoint;
  readonly routes: readonly ServedRoute[];
  readonly admission: CallerAdmission;
  readonly metrics: HttpMetrics;
  readonly log: Log;
}

/** Verbosity at which requests are logged. */
const LOG_VERBOSITY = 4;
/** Maximum concurrent streaming responses of one endpoint. */
const MAX_LONG_RUNNING = 500;
const NOT_FOUND = "404 page not found\n";
/** Unknown paths need the same access as the rest. */
const UNKNOWN_ACCESS = { subresources: ["proxy"] };

/** Answers the requests of one listener: who, may they, what. */
export class EndpointServer {
  readonly #options: EndpointOptions;
  #longRunning = 0;

  constructor(options: EndpointOptions) {
    this.#options = options;
  }

  /** Whether a request may switch protocols: only where a route is for that. */
  mayUpgrade(method: string, target: string): boolean {
    const parsed = parseTarget(target);
    if (!parsed) return false;
    const match = matchRoute(this.#options.routes, this.#options.endpoint, method, parsed.path);
    return match.kind === "found" && match.route.upgrades === true;
  }

  async answer(exchange: Exchange): Promise<void> {
    const { endpoint, routes, metrics, log } = this.#options;
    const parsed = parseTarget(exchange.target);
    const match: RouteMatch<ServedRoute["handler"]> = parsed
      ? matchRoute(routes, endpoint, exchange.method, parsed.path)
      : { kind: "unknown" };
    const route = match.kind === "found" ? match.route : undefined;
    const end = metrics.begin({
      method: methodLabel(exchange.method),
      path: route ? routeLabel(route.pattern) : "other",
      server_type: endpoint === "readOnly" ? "readonly" : "readwrite",
      long_running: route?.longRunning === true ? "true" : "false",
    });
    try {
      const path = parsed?.path ?? "";
      await this.#answer(exchange, match, { path, query: parsed?.query ?? new URLSearchParams() });
    } catch (error) {
      await this.#answerProblem(exchange, error);
    } finally {
      end();
      if (log.enabled(LOG_VERBOSITY)) {
        log.verbose(LOG_VERBOSITY, "HTTP", {
          endpoint,
          method: exchange.method,
          path: parsed?.path.slice(0, 512),
          peer: exchange.peer,
          status: exchange.status,
        });
      }
    }
  }

  /** Reports peers that do not speak HTTP, and internal errors. */
  onProblem({ kind, peer, error }: ListenProblem): void {
    const { log, endpoint } = this.#options;
    if (kind === "answer") log.error("failed to serve a request", { endpoint, peer, error });
    else log.verbose(LOG_VERBOSITY, "connection rejected", { endpoint, peer, kind, error });
  }

  async #answer(
    exchange: Exchange,
    match: RouteMatch<ServedRoute["handler"]>,
    { path, query }: { readonly path: string; readonly query: URLSearchParams },
  ): Promise<void> {
    const identity = await this.#admit(exchange, match, path);
    if (!identity) return;
    if (match.kind === "unknown") return replyText({ exchange }, 404, NOT_FOUND);
    if (match.kind === "wrongMethod") {
      const headers = { ...TEXT_HEADERS, allow: match.allow.join(", ") };
      return exchange.reply(405, headers, "405: Method Not Allowed\n");
    }
    const { route, params } = match;
    const { endpoint } = this.#options;
    const call: Call = {
      exchange,
      endpoint,
      path,
      params,
      query,
      identity,
      signal: exchange.signal,
    };
    if (route.longRunning !== true) return route.handler(call);
    if (this.#longRunning >= MAX_LONG_RUNNING)
      throw new HttpProblem(429, "too many open streams\n");
    this.#longRunning += 1;
    try {
      return await route.handler(call);
    } finally {
      this.#longRunning -= 1;
    }
  }

  /** The identity of the client if authorized; else the rejection is sent. */
  async #admit(
    exchange: Exchange,
    match: RouteMatch<unknown>,
    path: string,
  ): Promise<Identity | undefined> {
    const { admission, log } = this.#options;
    if (admission.kind === "everybody") return admission.identity;
    const { authenticator, authorizer, nodeName } = admission;
    const { client, headers, method, signal } = exchange;
    const credentials = { client, bearerToken: bearerTokenOf(headers["authorization"]) };
    const who = await authenticator.authenticate(credentials, signal);
    if (who.kind !== "identity") {
      if (who.kind === "refused")
        log.verbose(2, "request authentication failed", { peer: exchange.peer, why: who.why });
      await replyText({ exchange }, 401, "Unauthorized");
      return undefined;
    }
    const { identity } = who;
    if (identity.groups.includes(ALL_AUTHENTICATED)) exchange.authenticated();
    const access = match.kind === "found" ? match.route.access : UNKNOWN_ACCESS;
    const question = { identity, access, method, path, nodeName };
    const answer = await decideAccess(question, authorizer, signal);
    if (answer.kind === "allowed") return identity;
    log.verbose(2, "request not authorized", { peer: exchange.peer, path, user: identity.name });
    await replyText({ exchange }, answer.status, answer.text);
    return undefined;
  }

  /** `HttpProblem` becomes its status and text, `OutsideError` a 500; other errors are handled by the listener. */
  async #answerProblem(exchange: Exchange, error: unknown): Promise<void> {
    if (exchange.signal.aborted) return;
    const begun = exchange.status !== undefined;
    if (error instanceof HttpProblem && !begun)
      return replyText({ exchange }, error.status, error.message);
    if (isOutside(error) && !begun) {
      this.onProblem({ kind: "answer", peer: exchange.peer, error });
      return replyText({ exchange }, 500, `${messageOf(error)}\n`);
    }
    throw error;
  }
}
