// pure
import { quoted } from "../../api/text/go-quote.ts";
import { readGoUrl } from "../../api/text/go-url.ts";

/** Where spans are sent to: an address of TCP or a socket; or why an endpoint is none. */
type TraceEndpoint =
  | { readonly kind: "tcp"; readonly address: string }
  | { readonly kind: "socket"; readonly path: string }
  | { readonly kind: "fault"; readonly url: string; readonly why: string };

const ADDRESS = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(:\d{0,5})?$/;

/**
 * Reads `tracing.endpoint` as component-base/tracing does: `host:port`, or a target of gRPC with the scheme `dns` or
 * `unix`. Of `dns://<server>/<host>:<port>` the host is asked of the system's resolver. Sockets without a
 * path (`unix-abstract`) are refused: gRPC for Node does not connect to them.
 */
export function readTraceEndpoint(endpoint: string): TraceEndpoint {
  const url = endpoint.includes("//") ? endpoint : `dns://${endpoint}`;
  const fault = (why: string): TraceEndpoint => ({ kind: "fault", url, why });
  const parsed = readGoUrl(url);
  if (!parsed.ok) return fault(`parse ${quoted(url)}: ${parsed.why}`);
  const { scheme, opaque, host, path } = parsed;
  if (!["dns", "unix", "unix-abstract"].includes(scheme)) {
    return fault(`unsupported scheme: ${scheme}. Options are none, dns, unix, or unix-abstract`);
  }
  if (scheme === "unix-abstract") return fault("sockets without a path are not supported here");
  if (scheme === "unix") return { kind: "socket", path: opaque || `${host}${path}` };
  const target = endpoint.includes("//") ? opaque || path.replace(/^\//, "") || host : host;
  const address = target === "" || target.startsWith(":") ? `localhost${target}` : target;
  return ADDRESS.test(address)
    ? { kind: "tcp", address }
    : fault(`${quoted(address)} is no host with a port`);
}
