/** Answers the requests of the listener: who asks, may they, what is it about. */
import { InvariantError, isOutside, messageOf } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { Exchange, ListenProblem } from "../../outside/serving.ts";
import { authenticate } from "../access/authenticate.ts";
import { type Access, authorize } from "../access/authorize.ts";
import { findKind } from "../kinds/catalog.ts";
import type { Kind } from "../kinds/kind.ts";
import { REVIEWS, subresourcesOf } from "../kinds/offers.ts";
import { findUnsupported, hasEmptyList, type UnsupportedKind } from "../kinds/unsupported-kinds.ts";
import type { User } from "../objects/object-request.ts";
import {
  forbiddenRequest,
  internal,
  methodNotAllowed,
  StatusError,
  unauthorized,
  unknownPath,
  unsupportedKind,
} from "../status-error.ts";
import { type ResourceCall, replyObject, replyRefusal, type ServeDeps } from "./call.ts";
import { replyOther } from "./other-paths.ts";
import { type ApiTarget, isOn, parseApiTarget, type ResourcePath } from "./request.ts";
import * as objects from "./resources.ts";
import { replyReview } from "./reviews.ts";
import { replySubresource } from "./subresources.ts";

/** Verbosity at which requests are logged. */
const LOG_VERBOSITY = 4;
/** Watches and streams that are open at once. */
const MAX_LONG_RUNNING = 500;
const STREAMING: ReadonlySet<string> = new Set(["attach", "exec", "portforward"]);

/** See the head of this file. */
export class ApiServer {
  readonly #deps: ServeDeps;
  readonly #log: Log;
  #longRunning = 0;

  constructor(deps: ServeDeps) {
    this.#deps = deps;
    this.#log = deps.core.log;
  }

  /** Only connections into containers go on with another protocol. */
  mayUpgrade(_method: string, target: string): boolean {
    const at = parseApiTarget(target)?.at;
    return at?.kind === "resource" && at.plural === "pods" && STREAMING.has(at.subresource);
  }

  async answer(exchange: Exchange): Promise<void> {
    try {
      await this.#answer(exchange);
    } catch (error) {
      await this.#answerProblem(exchange, error);
    } finally {
      if (this.#log.enabled(LOG_VERBOSITY)) {
        const { method, target, status, peer } = exchange;
        this.#log.verbose(LOG_VERBOSITY, "HTTP", { method, path: pathOf(target), status, peer });
      }
    }
  }

  /** Reports peers that do not speak HTTP, and internal errors. */
  onProblem({ kind, peer, error }: ListenProblem): void {
    if (kind === "answer") this.#log.error("failed to serve a request", { peer, error });
    else this.#log.verbose(LOG_VERBOSITY, "connection rejected", { peer, kind, error });
  }

  async #answer(exchange: Exchange): Promise<void> {
    const user = authenticate(exchange, this.#deps.tokens, this.#log);
    if (!user) throw unauthorized();
    exchange.authenticated();
    const target = parseApiTarget(exchange.target);
    if (!target) throw unknownPath();
    const { at } = target;
    if (at.kind === "other") {
      const verb = exchange.method.toLowerCase();
      this.#need(user, { verb: verb === "head" ? "get" : verb, path: at.path });
      return await replyOther(this.#deps, exchange, at);
    }
    await this.#answerResource(exchange, { user, at, target });
  }

  async #answerResource(
    exchange: Exchange,
    { user, at, target }: { user: User; at: ResourcePath; target: ApiTarget },
  ): Promise<void> {
    const { query } = target;
    const verb = verbOf(exchange.method, at, query);
    const { group, plural, subresource, namespace, name } = at;
    const ofNamespace = group === "" && plural === "namespaces";
    this.#need(user, {
      verb,
      resource: { group, plural, subresource, namespace: ofNamespace ? name : namespace, name },
    });
    const call: ResourceCall = { deps: this.#deps, exchange, user, at, query };
    const review = REVIEWS.find(
      (each) => each.group === group && each.plural === plural && each.version === at.version,
    );
    if (review) return await replyReview(call, review);
    const unsupported = findUnsupported(group, at.version, plural);
    if (unsupported) return await replyUnsupported(exchange, unsupported, name);
    const kind = findKind(group, plural);
    if (!kind || kind.version !== at.version) throw unknownPath();
    if (isMisplaced(kind, at)) throw unknownPath();
    const isLong = verb === "watch" || STREAMING.has(subresource) || isOn(query, "follow");
    if (!isLong) return await answerKind(call, kind, verb);
    if (this.#longRunning >= MAX_LONG_RUNNING)
      throw new StatusError(429, "TooManyRequests", "too many open streams");
    this.#longRunning += 1;
    try {
      await answerKind(call, kind, verb);
    } finally {
      this.#longRunning -= 1;
    }
  }

  #need(user: User, access: Access): void {
    const verdict = authorize(user, access);
    if (verdict.kind === "allowed") return;
    const { resource } = access;
    if (!resource) throw new StatusError(403, "Forbidden", `forbidden: ${verdict.why}`, {});
    throw forbiddenRequest(resource, resource.name, verdict.why);
  }

  /** Refusals go out as they are; failures of the outside and faults of ours without details. */
  async #answerProblem(exchange: Exchange, error: unknown): Promise<void> {
    if (exchange.signal.aborted) return;
    if (exchange.status !== undefined) throw error;
    if (error instanceof StatusError) return await replyRefusal(exchange, error);
    if (isOutside(error, "aborted")) return;
    this.onProblem({ kind: "answer", peer: exchange.peer, error });
    const why =
      isOutside(error) || error instanceof InvariantError ? messageOf(error) : "unexpected";
    await replyRefusal(exchange, internal(why));
  }
}

/** Says what is done without a kind that this API does not have. Throws `StatusError` but for an empty list. */
async function replyUnsupported(
  exchange: Exchange,
  unsupported: UnsupportedKind,
  name: string,
): Promise<void> {
  const isRead = exchange.method === "GET";
  if (!isRead || name !== "" || !hasEmptyList(unsupported))
    throw unsupportedKind(unsupported, isRead);
  const { group, version, kind } = unsupported;
  const metadata = { resourceVersion: "" };
  const list = { kind: `${kind}List`, apiVersion: `${group}/${version}`, metadata, items: [] };
  await replyObject(exchange, 200, list);
}

function pathOf(target: string): string {
  return target.split("?")[0]?.slice(0, 512) ?? "";
}

/** Objects of a namespace are in one; others are not. Lists may be of all namespaces. */
function isMisplaced({ namespaced }: Kind, { namespace, name }: ResourcePath): boolean {
  return namespaced ? namespace === "" && name !== "" : namespace !== "";
}

function verbOf(
  method: string,
  { name, subresource }: ResourcePath,
  query: URLSearchParams,
): string {
  const one = name !== "";
  switch (method) {
    case "GET":
    case "HEAD":
      if (subresource !== "") return STREAMING.has(subresource) ? "create" : "get";
      if (isOn(query, "watch")) return "watch";
      return one ? "get" : "list";
    case "POST":
      return "create";
    case "PUT":
      return "update";
    case "PATCH":
      return "patch";
    case "DELETE":
      return one ? "delete" : "deletecollection";
    default:
      return method.toLowerCase();
  }
}

async function answerKind(call: ResourceCall, kind: Kind, verb: string): Promise<void> {
  const { at } = call;
  if (at.subresource !== "") {
    const part = subresourcesOf(kind).find(({ name }) => name === at.subresource);
    if (!part) throw unknownPath();
    if (!part.verbs.includes(verb)) throw methodNotAllowed();
    return await replySubresource(call, kind);
  }
  if (!kind.verbs.some((each) => each === verb)) throw methodNotAllowed();
  switch (verb) {
    case "get":
      return await objects.replyGet(call, kind);
    case "list":
      return await objects.replyList(call, kind);
    case "watch":
      return await objects.replyWatch(call, kind);
    case "create":
      if (at.name !== "" || (kind.namespaced && at.namespace === "")) throw methodNotAllowed();
      return await objects.replyCreate(call, kind);
    case "update":
      return await objects.replyUpdate(call, kind);
    case "patch":
      return await objects.replyPatch(call, kind);
    case "delete":
      return await objects.replyDelete(call, kind);
    case "deletecollection":
      return await objects.replyDeleteCollection(call, kind);
    default:
      throw methodNotAllowed();
  }
}
