import type { Log } from "../kit/log.ts";
import type { Tracer } from "../kit/tracing/tracing.ts";
import {
  bearerTokenOf,
  type ErrorReply,
  type RequestService,
  type RequestTarget,
  type RoutedRequest,
} from "../outside/serving.ts";
import { ALL_AUTHENTICATED, ANONYMOUS, type Authenticator } from "./access/authenticate.ts";
import { type Authorizer, decideAccess } from "./access/authorize.ts";
import { type Handler, type ServedRoute, TEXT_HEADERS } from "./call.ts";
import { type HttpMetrics, methodLabel } from "./http-metrics.ts";
import { HttpProblem } from "./http-problem.ts";
import type { Identity } from "./identity.ts";
import { type Endpoint, matchRoute, type RouteMatch, routeLabel } from "./route-table.ts";

/** Access to an endpoint: one identity for all clients, or authentication. */
export type CallerAdmission =
  | { readonly kind: "everybody"; readonly identity: Identity }
  | {
      readonly kind: "checked";
      readonly authenticator: Authenticator;
      readonly authorizer: Authorizer;
      readonly nodeName: string;
    };

interface EndpointOptions {
  readonly endpoint: Endpoint;
  readonly routes: readonly ServedRoute[];
  readonly admission: CallerAdmission;
  readonly metrics: HttpMetrics;
  readonly log: Log;
  readonly tracer: Tracer;
}

const NOT_FOUND = "404 page not found\n";
/** Unknown paths need the same access as the rest. */
const UNKNOWN_ACCESS = { subresources: ["proxy"] };

type Match = RouteMatch<Handler>;
type KubeletRequest = RoutedRequest<Match>;

/** Handles requests of one endpoint: routes, authentication, authorization. */
export class EndpointService implements RequestService<Match, Identity> {
  readonly #options: EndpointOptions;

  constructor(options: EndpointOptions) {
    this.#options = options;
  }

  match(method: string, target: RequestTarget | undefined): Match {
    const { routes, endpoint } = this.#options;
    return matchRoute(routes, endpoint, method, target);
  }

  mayUpgrade(match: Match): boolean {
    return match.kind === "found" && match.route.upgrades === true;
  }

  isLongRunning(match: Match): boolean {
    return match.kind === "found" && match.route.longRunning === true;
  }

  isUrgent(match: Match): boolean {
    return match.kind === "found" && match.route.pattern.startsWith("/healthz");
  }

  begin({ exchange, route: match }: KubeletRequest): () => void {
    const { endpoint, metrics } = this.#options;
    return metrics.begin({
      method: methodLabel(exchange.method),
      path: match.kind === "found" ? routeLabel(match.route.pattern) : "other",
      server_type: endpoint === "readOnly" ? "readonly" : "readwrite",
      long_running: this.isLongRunning(match) ? "true" : "false",
    });
  }

  async admit({ exchange, target, route: match }: KubeletRequest): Promise<Identity> {
    const { admission, log } = this.#options;
    if (admission.kind === "everybody") return admission.identity;
    const access = match.kind === "found" ? match.route.access : UNKNOWN_ACCESS;
    if (access === "anybody") return ANONYMOUS;
    const { authenticator, authorizer, nodeName } = admission;
    const { client, headers, method, peer, signal } = exchange;
    const credentials = {
      client,
      bearerToken: bearerTokenOf(headers["authorization"]),
      cookie: headers["cookie"],
    };
    const who = await authenticator.authenticate(credentials, signal);
    if (who.kind !== "identity") {
      if (who.kind === "refused")
        log.verbose(2, "request authentication failed", { peer, why: who.why });
      throw new HttpProblem(401, "Unauthorized");
    }
    const { identity } = who;
    if (identity.groups.includes(ALL_AUTHENTICATED)) exchange.authenticated();
    const path = target?.path ?? "";
    const question = { identity, access, method, path, nodeName };
    const answer = await decideAccess(question, authorizer, signal);
    if (answer.kind === "allowed") return identity;
    log.verbose(2, "request not authorized", { peer, path, user: identity.name });
    throw new HttpProblem(answer.status, answer.text);
  }

  async answer(
    { exchange, target, route: match }: KubeletRequest,
    identity: Identity,
  ): Promise<void> {
    if (match.kind === "unknown" || !target) throw new HttpProblem(404, NOT_FOUND);
    if (match.kind === "wrongMethod") {
      const headers = { ...TEXT_HEADERS, allow: match.allow.join(", ") };
      return await exchange.reply(405, headers, "405: Method Not Allowed\n");
    }
    const { route, params } = match;
    const { path, query } = target;
    const { endpoint, tracer } = this.#options;
    const { signal, headers, method } = exchange;
    const attributes = { "http.request.method": method, "http.route": route.pattern };
    await tracer.run(
      `${method} ${route.pattern}`,
      { kind: "server", attributes, from: headers },
      () => route.handler({ exchange, endpoint, path, params, query, identity, signal }),
    );
  }

  refusal(error: unknown): ErrorReply | undefined {
    return error instanceof HttpProblem ? textReply(error.status, error.message) : undefined;
  }

  failure(status: 429 | 500, message = "Internal Server Error"): ErrorReply {
    return textReply(status, `${message}\n`);
  }
}

function textReply(status: number, body: string): ErrorReply {
  return { status, headers: TEXT_HEADERS, body };
}
