// pure
import { isIPv4 } from "../../api/text/ip.ts";

/** Address of Node's inspector when `--inspect` has no value. */
export const DEFAULT_INSPECTOR = "127.0.0.1:9229";

/** Address of an inspector. */
interface InspectorAddress {
  readonly host: string;
  readonly port: number;
}

const MAX_PORT = 65_535;

/**
 * Reads `port`, `host:port` or `[::1]:port`; undefined unless it is on loopback. Names other than
 * `localhost` are not looked up, and port 0 takes any free one.
 */
export function parseInspectorAddress(text: string): InspectorAddress | undefined {
  const [, host = "127.0.0.1", digits = ""] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === "" || port > MAX_PORT) return undefined;
  if (host === "localhost") return { host: "127.0.0.1", port };
  if (host === "[::1]") return { host: "::1", port };
  return isIPv4(host) && host.startsWith("127.") ? { host, port } : undefined;
}
