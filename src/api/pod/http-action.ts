// pure
import { appendAll } from "../../kit/limits/lists.ts";
import type { HTTPHeader } from "../generated/types.ts";
import { readGoUrl } from "../text/go-url.ts";

/** Characters that a path may hold unescaped when its author escaped the rest (net/url validEncoded). */
const WELL_ESCAPED = /^(?:[A-Za-z0-9\-_.~!$&'()*+,;=:@[\]/]|%[0-9a-fA-F]{2})*$/;

/** Bytes that Go leaves alone when it has to escape a path itself. */
const KEPT = /[A-Za-z0-9\-_.~$&+,/:;=@]/;

/**
 * The URL of a probe or hook by httpGet, with its path read and escaped as Go's net/url does: a query stays a
 * query, escapes stay as written, what must be escaped is, and `..` is not resolved.
 */
export function actionUrl(scheme: string, host: string, port: number, path: string): string {
  const joined = host.includes(":") ? `[${host.replace("%", "%25")}]` : host;
  return `${scheme}://${joined}:${port}${pathAndQuery(path)}`;
}

/**
 * Why a path cannot be asked for, in Go's words; `undefined` when it can. What looks like a scheme and does not go on with
 * a slash (`foo:bar`) makes a URL without a host there.
 */
export function actionUrlFault(scheme: string, path: string): string | undefined {
  const parsed = readGoUrl(path);
  if (!parsed.ok || parsed.opaque === "") return undefined;
  const url = `${scheme}:${parsed.opaque}${parsed.query}`;
  return `Get ${JSON.stringify(url)}: http: no Host in request URL`;
}

/**
 * The headers of the spec with a user agent and an `Accept`, which an empty one takes away (pkg/probe/http
 * NewRequestForHTTPGetAction).
 */
export function actionHeaders(
  given: readonly HTTPHeader[],
  userAgent: string,
): readonly HTTPHeader[] {
  const named = (name: string) => given.filter((header) => header.name.toLowerCase() === name);
  const agent = named("user-agent")[0]?.value ?? userAgent;
  const accept = named("accept");
  const others = given.filter(({ name }) => !["user-agent", "accept"].includes(name.toLowerCase()));
  return [
    ...(agent === "" ? [] : [{ name: "User-Agent", value: agent }]),
    ...(accept.length === 0 ? [{ name: "Accept", value: "*/*" }] : []),
    ...(accept[0]?.value === "" ? [] : accept),
    ...others,
  ];
}

function pathAndQuery(given: string): string {
  const parsed = readGoUrl(given);
  if (!parsed.ok) return rooted(escapePath(new TextEncoder().encode(given)));
  const { path, query } = parsed;
  const escaped = WELL_ESCAPED.test(path) ? path : escapePath(unescapePath(path));
  return rooted(escaped) + query.replaceAll(" ", "%20");
}

function rooted(path: string): string {
  return path.startsWith("/") ? path : `/${path}`;
}

function unescapePath(path: string): Uint8Array {
  const bytes: number[] = [];
  const encoder = new TextEncoder();
  for (const [piece, hex] of path.matchAll(/%([0-9a-f]{2})|[^%]+/gi)) {
    if (hex !== undefined) bytes.push(Number.parseInt(hex, 16));
    else appendAll(bytes, encoder.encode(piece));
  }
  return Uint8Array.from(bytes);
}

function escapePath(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) {
    const char = String.fromCharCode(byte);
    text += KEPT.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return text;
}
