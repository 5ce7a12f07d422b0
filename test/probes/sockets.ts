import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { AddressInfo, Server } from "node:net";

/**
 * Listens on a free port of `host` that no earlier connection, of whoever, has left in TIME_WAIT, and resolves with the
 * port.
 */
export async function listen(server: Server, host = "127.0.0.1"): Promise<number> {
  for (;;) {
    server.listen(0, host);
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    if (timeWaitCount(port) === 0) return port;
    server.close();
    await once(server, "close");
  }
}

/** TCP states as the kernel numbers them in `/proc/net/tcp`. */
const TIME_WAIT = "06";

/** Connections in TIME_WAIT on this machine, or only those that have `port` at either end. */
export function timeWaitCount(port?: number): number {
  let count = 0;
  const wanted = port?.toString(16).toUpperCase().padStart(4, "0");
  for (const table of ["/proc/net/tcp", "/proc/net/tcp6"]) {
    for (const line of readFileSync(table, "utf8").split("\n").slice(1)) {
      const [, local = "", remote = "", state] = line.trim().split(/\s+/);
      if (state !== TIME_WAIT) continue;
      const ports = [local.split(":")[1], remote.split(":")[1]];
      if (wanted === undefined || ports.includes(wanted)) count += 1;
    }
  }
  return count;
}
