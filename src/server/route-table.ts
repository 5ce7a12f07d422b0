// pure
import type { RequestTarget } from "../outside/serving.ts";

/**
 * Endpoints of the server: the HTTPS port, the read-only port, the health port, the agent's own socket, the page
 * of the node.
 */
export type Endpoint = "secure" | "readOnly" | "health" | "local" | "page";

/** Access that a route requires; one of `subresources` of the node is enough. */
export interface RouteAccess {
  readonly subresources: readonly string[];
  /** In place of the verb that follows the method. */
  readonly verb?: string;
}

/** One path of the server. `Handler` is whatever answers it. */
export interface Route<Handler> {
  /**
   * `/exec/{namespace}/{pod}/{container}`; a word in braces stands for one part of a path, `{path...}` at the end for
   * all that follow, at least one.
   */
  readonly pattern: string;
  /** `GET` answers `HEAD` too. */
  readonly methods: readonly string[];
  readonly endpoints: readonly Endpoint[];
  /** `anybody`: the route itself proves who asks. */
  readonly access: RouteAccess | "anybody";
  /** Answers for as long as the caller likes. */
  readonly longRunning?: boolean;
  /** The caller may switch protocols. */
  readonly upgrades?: boolean;
  readonly handler: Handler;
}

/** Result of matching path and method. */
export type RouteMatch<Handler> =
  | {
      readonly kind: "found";
      readonly route: Route<Handler>;
      readonly params: Readonly<Record<string, string>>;
    }
  | { readonly kind: "wrongMethod"; readonly allow: readonly string[] }
  | { readonly kind: "unknown" };

/** Finds the route for a path. A trailing slash is ignored; nothing else is normalized. */
export function matchRoute<Handler>(
  routes: readonly Route<Handler>[],
  endpoint: Endpoint,
  method: string,
  target: RequestTarget | undefined,
): RouteMatch<Handler> {
  const parts = target && withoutEnds(target.parts);
  const allow = new Set<string>();
  for (const route of routes) {
    if (!route.endpoints.includes(endpoint)) continue;
    const params = parts && matchParts(splitPattern(route.pattern), parts);
    if (!params) continue;
    const methods = methodsOf(route);
    if (methods.includes(method)) return { kind: "found", route, params };
    for (const name of methods) allow.add(name);
  }
  return allow.size > 0 ? { kind: "wrongMethod", allow: [...allow] } : { kind: "unknown" };
}

function methodsOf({ methods }: Route<unknown>): readonly string[] {
  return methods.includes("GET") ? [...methods, "HEAD"] : methods;
}

function splitPattern(pattern: string): readonly string[] {
  return pattern.split("/").filter((part) => part !== "");
}

/** The parts without what is before the first slash, and after one at the end. */
function withoutEnds(parts: readonly string[]): readonly string[] {
  return parts.length > 2 && parts.at(-1) === "" ? parts.slice(1, -1) : parts.slice(1);
}

/** End of a word in braces that stands for the rest of a path. */
const REST = "...}";

function matchParts(
  pattern: readonly string[],
  parts: readonly string[],
): Readonly<Record<string, string>> | undefined {
  const takesRest = pattern.at(-1)?.endsWith(REST) ?? false;
  if (takesRest ? parts.length < pattern.length : parts.length !== pattern.length) return undefined;
  const params: Record<string, string> = {};
  for (const [i, expected] of pattern.entries()) {
    const part = parts[i] ?? "";
    if (!expected.startsWith("{")) {
      if (part !== expected) return undefined;
    } else if (expected.endsWith(REST))
      params[expected.slice(1, -REST.length)] = parts.slice(i).join("/");
    else if (part === "") return undefined;
    else params[expected.slice(1, -1)] = part;
  }
  return params;
}

const VERBS: Readonly<Record<string, string>> = {
  GET: "get",
  // The Go kubelet knows no verb for HEAD, which leaves it to those who may do anything.
  HEAD: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

/** The verb that a request with this method asks for; empty for methods without meaning (auth.go). */
export function verbOf(method: string): string {
  return VERBS[method] ?? "";
}

/** First word of a route, for metrics and logs: a few words, whatever is asked. */
export function routeLabel(pattern: string): string {
  return splitPattern(pattern)
    .filter((part) => !part.startsWith("{"))
    .join("/");
}
