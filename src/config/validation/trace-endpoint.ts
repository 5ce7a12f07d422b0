// pure
import { quoted } from "../../api/decode/field-problem.ts";

/** Where spans are sent to: an address of TCP or a socket; or why an endpoint is none. */
export type TraceEndpoint =
  | { readonly kind: "tcp"; readonly address: string }
  | { readonly kind: "socket"; readonly path: string }
  | { readonly kind: "fault"; readonly url: string; readonly why: string };

const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):/;
/** Characters of a host as `net/url` allows them, without `%` and brackets. */
const HOST = /^[A-Za-z0-9\-._~!$&'()*+,;=:<>"\u0080-\u{10ffff}]*$/u;

/**
 * Reads `tracing.endpoint` as component-base/tracing does: `host:port`, or a target of gRPC with the scheme `dns` or
 * `unix`. Of `dns://<server>/<host>:<port>` the host is asked of the system's resolver. Sockets without a
 * path (`unix-abstract`) are refused: gRPC for Node does not connect to them.
 */
export function readTraceEndpoint(endpoint: string): TraceEndpoint {
  const url = endpoint.includes("//") ? endpoint : `dns://${endpoint}`;
  const fault = (why: string): TraceEndpoint => ({ kind: "fault", url, why });
  const broken = (why: string): TraceEndpoint => fault(`parse ${quoted(url)}: ${why}`);
  if (/[^\P{Cc}\x80-\x9f]/u.test(url)) return broken("invalid control character in URL");
  const scheme = (SCHEME.exec(url)?.[1] ?? "").toLowerCase();
  if (scheme === "" && /^[^/]*:/.test(url)) return broken(schemeFault(url));
  if (!["dns", "unix", "unix-abstract"].includes(scheme)) {
    return fault(`unsupported scheme: ${scheme}. Options are none, dns, unix, or unix-abstract`);
  }
  if (scheme === "unix-abstract") return fault("sockets without a path are not supported here");
  const rest = url.slice(scheme.length + 1);
  const [, authority = "", path = ""] = /^\/\/([^/?#]*)([^?#]*)/s.exec(rest) ?? ["", "", rest];
  const why = authorityFault(authority);
  if (why !== "") return broken(why);
  if (scheme === "unix") return { kind: "socket", path: `${authority}${path}` };
  return { kind: "tcp", address: path.replace(/^\//, "") || authority };
}

function schemeFault(url: string): string {
  return url.startsWith(":")
    ? "missing protocol scheme"
    : "first path segment in URL cannot contain colon";
}

/** What is wrong with `user@host:port`; empty when nothing is. */
function authorityFault(authority: string): string {
  const host = authority.slice(authority.lastIndexOf("@") + 1);
  if (host.startsWith("[")) {
    const end = host.lastIndexOf("]");
    if (end < 0) return "missing ']' in host";
    return portFault(host.slice(end + 1));
  }
  const colon = host.indexOf(":");
  const name = colon < 0 ? host : host.slice(0, colon);
  const bad = /%.{0,2}/s.exec(name)?.[0];
  if (bad !== undefined) return `invalid URL escape ${quoted(bad)}`;
  const odd = [...name].find((character) => !HOST.test(character));
  if (odd !== undefined) return `invalid character ${quoted(odd)} in host name`;
  return colon < 0 ? "" : portFault(host.slice(colon));
}

function portFault(port: string): string {
  return /^(:\d*)?$/.test(port) ? "" : `invalid port ${quoted(port)} after host`;
}
