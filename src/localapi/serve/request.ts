// pure
/** Parses the path and query of a request. */
import type { RequestTarget } from "../../outside/serving.ts";

/** A request for objects. */
export interface ResourcePath {
  readonly kind: "resource";
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly plural: string;
  readonly name: string;
  readonly subresource: string;
  /** Path after that of the proxy, without its slash; undefined when there is none. */
  readonly rest: string | undefined;
}

/** Any other request; `segments` are the parts of the path. */
export interface OtherPath {
  readonly kind: "other";
  readonly path: string;
  readonly segments: readonly string[];
}

/** Subresources of namespaces; other names below a namespace are resources in it. */
const OF_NAMESPACES: ReadonlySet<string> = new Set(["status", "finalize"]);

/** Parses a path; empty segments are ignored. */
export function readPath({ path, parts }: RequestTarget): ResourcePath | OtherPath {
  const segments = parts.filter((part) => part !== "");
  return resourceAt(segments, path) ?? { kind: "other", path, segments };
}

function resourceAt(segments: readonly string[], path: string): ResourcePath | undefined {
  const [root, ...after] = segments;
  if (root !== "api" && root !== "apis") return undefined;
  const [group, version, ...parts] = root === "api" ? ["", ...after] : after;
  if (group === undefined || version === undefined || parts.length === 0) return undefined;
  const used = segments.length - parts.length;
  const inNamespace =
    parts[0] === "namespaces" && parts.length > 2 && !OF_NAMESPACES.has(parts[2] ?? "");
  const [namespace = "", own] = inNamespace ? [parts[1], parts.slice(2)] : ["", parts];
  const [plural = "", name = "", subresource = ""] = own ?? [];
  const before = used + (inNamespace ? 2 : 0) + 3;
  const rest = (own?.length ?? 0) > 3 || /\/proxy\/$/.test(path) ? restOf(path, before) : undefined;
  return { kind: "resource", group, version, namespace, plural, name, subresource, rest };
}

/** The path after so many parts, as it was sent. */
function restOf(path: string, parts: number): string {
  let at = 0;
  for (let seen = 0; seen < parts; seen += 1) {
    while (path[at] === "/") at += 1;
    const next = path.indexOf("/", at);
    if (next < 0) return "";
    at = next;
  }
  return path.slice(at + 1);
}

/** A query value that is on or off: present, and neither `false` nor `0`. */
export function isOn(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && value !== "false" && value !== "0";
}
