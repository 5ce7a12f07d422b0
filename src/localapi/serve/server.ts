/** Answers the requests of the listener: who asks, may they, what is it about. */
import type {
  ErrorReply,
  Exchange,
  RequestService,
  RequestTarget,
  RoutedRequest,
} from "../../outside/serving.ts";
import { authenticate } from "../access/authenticate.ts";
import { type Access, authorize } from "../access/authorize.ts";
import { actingUser } from "../access/impersonate.ts";
import type { Kind } from "../kind.ts";
import { findKind } from "../kinds/catalog.ts";
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
import { type ResourceCall, replyObject, type ServeDeps, statusReply } from "./call.ts";
import { replyOther } from "./other-paths.ts";
import { isOn, type OtherPath, type ResourcePath, readPath } from "./request.ts";
import * as objects from "./resources.ts";
import { replyReview } from "./reviews.ts";
import { replySubresource } from "./subresources.ts";

const STREAMING: ReadonlySet<string> = new Set(["attach", "exec", "portforward"]);

/** Target of a request. */
type ApiRoute =
  | { readonly kind: "unknown" }
  | { readonly kind: "other"; readonly at: OtherPath }
  | {
      readonly kind: "resource";
      readonly at: ResourcePath;
      readonly verb: string;
      readonly query: URLSearchParams;
    };
type ApiRequest = RoutedRequest<ApiRoute>;

/** See the head of this file. */
export class ApiService implements RequestService<ApiRoute, User> {
  readonly #deps: ServeDeps;

  constructor(deps: ServeDeps) {
    this.#deps = deps;
  }

  match(method: string, target: RequestTarget | undefined): ApiRoute {
    if (!target) return { kind: "unknown" };
    const at = readPath(target);
    if (at.kind === "other") return { kind: "other", at };
    const { query } = target;
    return { kind: "resource", at, verb: verbOf(method, at, query), query };
  }

  /** Only connections into containers go on with another protocol. */
  mayUpgrade(route: ApiRoute): boolean {
    if (route.kind !== "resource") return false;
    return route.at.plural === "pods" && STREAMING.has(route.at.subresource);
  }

  isLongRunning(route: ApiRoute): boolean {
    if (route.kind !== "resource") return false;
    const { verb, at, query } = route;
    return verb === "watch" || STREAMING.has(at.subresource) || isOn(query, "follow");
  }

  async admit({ exchange, route }: ApiRequest): Promise<User> {
    const caller = authenticate(exchange, this.#deps.tokens, this.#deps.core.log);
    if (!caller) throw unauthorized();
    exchange.authenticated();
    const user = actingUser(caller, exchange.headers);
    if (route.kind === "unknown") throw unknownPath();
    checkAccess(user, accessOf(route, exchange.method));
    return user;
  }

  async answer({ exchange, route }: ApiRequest, user: User): Promise<void> {
    if (route.kind === "unknown") throw unknownPath();
    if (route.kind === "other") return await replyOther(this.#deps, exchange, route.at);
    const { at, verb, query } = route;
    const { group, plural, name } = at;
    const call: ResourceCall = { deps: this.#deps, exchange, user, at, query };
    const review = REVIEWS.find(
      (each) => each.group === group && each.plural === plural && each.version === at.version,
    );
    if (review) return await replyReview(call, review);
    const unsupported = findUnsupported(group, at.version, plural);
    if (unsupported) return await replyUnsupported(exchange, unsupported, name);
    const kind = findKind(group, plural);
    if (!kind || kind.version !== at.version || isMisplaced(kind, at)) throw unknownPath();
    await answerKind(call, kind, verb);
  }

  refusal(error: unknown): ErrorReply | undefined {
    return error instanceof StatusError ? statusReply(error) : undefined;
  }

  failure(status: 429 | 500, message = "unexpected"): ErrorReply {
    return statusReply(
      status === 429 ? new StatusError(status, "TooManyRequests", message) : internal(message),
    );
  }
}

function accessOf(route: Exclude<ApiRoute, { kind: "unknown" }>, method: string): Access {
  if (route.kind === "other") {
    const verb = method.toLowerCase();
    return { verb: verb === "head" ? "get" : verb, path: route.at.path };
  }
  const { group, plural, subresource, namespace, name } = route.at;
  const ofNamespace = group === "" && plural === "namespaces";
  return {
    verb: route.verb,
    resource: { group, plural, subresource, namespace: ofNamespace ? name : namespace, name },
  };
}

/** Throws `StatusError` Forbidden. */
function checkAccess(user: User, access: Access): void {
  const verdict = authorize(user, access);
  if (verdict.kind === "allowed") return;
  const { resource } = access;
  if (!resource) throw new StatusError(403, "Forbidden", `forbidden: ${verdict.why}`, {});
  throw forbiddenRequest(resource, resource.name, verdict.why);
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
