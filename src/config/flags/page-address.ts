// pure
import { isIPv4, isIPv6 } from "../../api/text/ip.ts";

/** Address of the node's page when `--page` has no value. */
export const DEFAULT_PAGE = "127.0.0.1:10270";

/** Address of the page. */
interface PageAddress {
  readonly host: string;
  readonly port: number;
}

const MAX_PORT = 65_535;

/** Reads `port` (on loopback), `address:port` or `[address]:port`; undefined for anything else. Names are not looked up. */
export function parsePageAddress(text: string): PageAddress | undefined {
  const [, host = "127.0.0.1", digits = ""] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === "" || port === 0 || port > MAX_PORT) return undefined;
  const six = /^\[(.+)\]$/.exec(host)?.[1];
  if (six !== undefined) return isIPv6(six) ? { host: six, port } : undefined;
  return isIPv4(host) ? { host, port } : undefined;
}
